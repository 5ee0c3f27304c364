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

    /// Does the work of the six layers: names the client, signs, looks into an empty cache, retries, measures.
    @inline(never) func work(_ request: consuming Request) async throws -> Response {
        if !request.head.headerFields.contains(.userAgent) {
            request.head.headerFields[.userAgent] = "benchmarks"
        }
        let start = ContinuousClock.now
        let isKnown = ends.contains(
            "\(request.head.scheme ?? "")://\(request.head.authority ?? "")\(request.head.path ?? "")")
        if request.head.scheme == "https", request.head.authority == "api.example.com" {
            request.head.headerFields[.authorization] = "Bearer token"
        }
        let response = try await answer(request)
        if !isKnown, response.status.code < 500, response.head.headerFields[.eTag] == nil {
            ends.record(ContinuousClock.now - start)
        }
        return response
    }
}

/// A cache without a response, and a sum of durations.
private final class Uses: Sendable {
    private let state = Mutex((urls: Set<String>(), duration: Duration.zero))

    func contains(_ url: String) -> Bool { state.withLock { $0.urls.contains(url) } }

    func record(_ duration: Duration) { state.withLock { $0.duration += duration } }
}
