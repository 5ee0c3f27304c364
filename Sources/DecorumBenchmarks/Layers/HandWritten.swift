import Decorum
import Foundation
import HTTPTypes
import Synchronization

/// The baselines of layers: functions that do the same work without layers.
struct HandWritten: Sendable {
    let response: Response
    private let ends = Uses()

    init(_ memory: MemoryConnection) {
        response = memory.response
    }

    /// Answers from memory.
    @inline(never) func answer(_ request: consuming Request) async throws -> Response {
        response
    }

    /// Sets one field, and answers.
    @inline(never) func setField(_ request: consuming Request) async throws -> Response {
        request.head.headerFields[.cacheControl] = "spring"
        return try await answer(request)
    }

    /// Does the work of the six layers: reports the request with its identifier, names the client, follows redirections,
    /// looks into an empty cache, retries, signs, and reports the response with its duration.
    @inline(never) func work(_ request: consuming Request) async throws -> Response {
        report(
            Report(
                identifier: ends.nextIdentifier(), method: request.head.method, scheme: request.head.scheme,
                authority: request.head.authority, path: request.head.path, status: nil, duration: nil))
        if !request.head.headerFields.contains(.userAgent) {
            request.head.headerFields[.userAgent] = "benchmarks"
        }
        let start = ContinuousClock.now
        let method = request.head.method
        let path = request.head.path
        let isKnown = ends.contains(
            "\(request.head.scheme ?? "")://\(request.head.authority ?? "")\(request.head.path ?? "")")
        if request.head.scheme == "https", request.head.authority == "api.example.com" {
            request.head.headerFields[.authorization] = "Bearer token"
        }
        let response = try await answer(request)
        let fields = response.head.headerFields
        if [301, 302, 303, 307, 308].contains(response.status.code), fields[.location] != nil { return response }
        if [429, 500, 502, 503, 504].contains(response.status.code), method != .post { return response }
        if !isKnown, fields[.eTag] == nil, fields[.lastModified] == nil {
            let duration = ContinuousClock.now - start
            ends.record(duration)
            report(
                Report(
                    identifier: 0, method: method, scheme: nil, authority: nil, path: path,
                    status: response.status.code, duration: duration))
        }
        return response
    }

    /// What an app's own function tells of a request.
    private struct Report {
        let identifier: Int
        let method: HTTPRequest.Method
        let scheme: String?
        let authority: String?
        let path: String?
        let status: Int?
        let duration: Duration?
    }

    // Not inlined, since the reader of such reports is in another place.
    @inline(never) private func report(_ report: Report) {
        if report.status == 0 { ends.record(report.duration ?? .zero) }
    }
}

/// A cache without a response, and a sum of durations.
private final class Uses: Sendable {
    private let state = Mutex((urls: Set<String>(), duration: Duration.zero))
    private let identifiers = Atomic(0)

    func nextIdentifier() -> Int { identifiers.wrappingAdd(1, ordering: .relaxed).newValue }

    func contains(_ url: String) -> Bool { state.withLock { $0.urls.contains(url) } }

    func record(_ duration: Duration) { state.withLock { $0.duration += duration } }
}
