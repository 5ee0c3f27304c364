import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTransfers

/// A server of the draft in memory, which stores content as it arrives, and lies where a test asks for it.
final class UploadServer: Connection {
    typealias Lie = @Sendable (Request) async throws -> Response?

    private let state = Mutex<(uploads: [String: Data], requests: [Request], lie: Lie?)>(([:], [], nil))
    private let numbers = Numbers()

    var layers: [Layer] { [Layer(name: "UploadServer", role: .transport)] }
    var requests: [Request] { state.withLock { $0.requests } }
    var methods: [String] { requests.map(\.head.method.rawValue) }
    var creations: Int { methods.count { $0 == "POST" } }
    var contents: [Data] { state.withLock { Array($0.uploads.values) } }

    /// Lets a function give other answers than those of the server, or nil, before the content is read.
    func lie(_ lie: Lie?) { state.withLock { $0.lie = lie } }

    func send(_ request: consuming Request) async throws -> Response {
        let request = request
        let lie = state.withLock { state in
            state.requests.append(request)
            return state.lie
        }
        var response = if let lie = try await lie?(request) { lie } else { try await answer(to: request) }
        response.metadata.url = response.metadata.url ?? request.url
        return response
    }

    private func answer(to request: Request) async throws -> Response {
        let path = request.head.path ?? ""
        let offset = state.withLock { "\($0.uploads[path]?.count ?? 0)" }
        switch request.head.method {
        case .post: return .answer(201, ["Location": "/files/\(numbers.next())"])
        case .head: return .answer(204, ["Upload-Offset": offset])
        case .delete:
            state.withLock { $0.uploads[path] = nil }
            return Response(status: .noContent)
        case _ where request.head.headerFields["Upload-Offset"] != offset: return Response(status: .conflict)
        default:
            do {
                for try await chunk in request.body { state.withLock { $0.uploads[path, default: Data()] += chunk } }
            } catch let error as UploadError {
                // As over a socket.
                throw TransportError(.unreadableBody, at: .head, underlying: error)
            }
            return .answer(200, ["Upload-Complete": "?1"], "done")
        }
    }
}

extension Connection {
    /// Breaks requests off within their content where a function of its length says, or loses their answers.
    func cuttingRequests(at place: @escaping @Sendable (_ length: Int64) -> Int64?) -> any Connection {
        intercepting { request, base in
            let body = request.body
            guard let length = body.length, length > 0, let cut = place(length) else {
                return try await base.send(request)
            }
            var request = request
            request.body = Body(length: length, replay: .fromAnyOffset) { offset in
                CutReader(
                    reader: try await body.open(at: offset), rest: cut == length ? .max : Int(cut - offset),
                    error: TransportError(.connectionLost, at: .head))
            }
            _ = try? await base.send(request)
            throw TransportError.locate(TransportError(.connectionLost, at: .head), in: request, after: nil)
        }
    }

    /// Begins an upload, which breaks off after 30,000 bytes of the first part.
    func interruptUpload(
        of file: URL, to request: Request, by method: some UploadProtocol = ResumableUpload(),
        clock: any DatedClock = SystemClock()
    ) async throws {
        let transfer = try cuttingRequests { $0 < 100_000 ? nil : 30_000 }.uploading(
            Body(contentsOf: file), to: request, by: method, policy: UploadPolicy(resumption: .init(attempts: 0)),
            clock: clock)
        let error = await #expect(throws: TransportError.self) { try await transfer.value }
        // Whoever has the URL of the upload may go on with it.
        #expect(error.map { "\($0)" }?.contains("/files/") == false)
    }

    /// Uploads, while two of three requests with content break off, some of them after the last byte.
    func uploadThroughBreaks(
        _ body: Body, to request: Request, by method: some UploadProtocol = ResumableUpload(), seed: UInt64 = 1,
        losingAnswers: Bool = true
    ) async throws -> Response {
        let (generator, last) = (SeededGenerator(seed: seed), losingAnswers ? 1 : 0 as Int64)
        let cutting = cuttingRequests { generator.next() % 3 > 0 ? Int64(generator.next() % UInt64($0 + last)) : nil }
        return try await cutting.uploading(
            body, to: request, by: method, policy: .init(resumption: .init(attempts: 200)), clock: ImpatientClock()
        ).value
    }
}

extension Response {
    /// An answer with fields whose names are given as text.
    static func answer(_ status: Int, _ fields: KeyValuePairs<String, String> = [:], _ text: String = "") -> Response {
        var response = Response(status: .init(code: status), body: text.isEmpty ? .empty : Body(text))
        for (name, value) in fields { response.head.headerFields[name] = value }
        return response
    }
}

extension HTTPFields {
    /// The value of a field by its name as text.
    subscript(_ name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
