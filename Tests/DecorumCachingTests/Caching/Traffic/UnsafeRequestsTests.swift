import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The effect of requests with unsafe methods on other requests under way (RFC 9111, section 4.4).
@Suite(.timeLimit(.minutes(3))) struct UnsafeRequestsTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()
    let gate = Gate()

    enum Moment: CaseIterable {
        case beforeTheHead, withinTheBody
    }

    private func cache(_ base: some Connection) -> some Connection {
        base.caching(in: store, clock: clock, spawner: spawner)
    }

    /// A server whose pages are fresh for an hour and arrive once the gate is open, and which answers other methods at
    /// once.
    private func origin(
        _ moment: Moment = .withinTheBody, answering change: @escaping @Sendable () throws -> Response
    ) -> StubConnection {
        StubConnection { [gate] request in
            guard request.head.method == .get else { return try change() }
            let fields: HTTPFields = [.cacheControl: "max-age=3600"]
            switch moment {
            case .beforeTheHead:
                try await gate.wait()
                return Response(status: .ok, fields: fields, body: "page")
            case .withinTheBody:
                let body = Body(length: nil, replay: .once) { _ in WaitingReader(gate: gate, rest: Data("page".utf8)) }
                return Response(status: .ok, fields: fields, body: body)
            }
        }
    }

    private func get(_ path: String) throws -> Request { try .get("https://example.com/\(path)") }

    private func read(_ path: String, through connection: some Connection) async throws -> ResponseMetadata.Source? {
        let response = try await connection.send(get(path))
        #expect(try await response.body.text(upTo: 100) == "page")
        return response.metadata.source
    }

    @Test(arguments: [204, 404, 500], Moment.allCases)
    func `Twenty responses under way are stored beside a POST to another URI`(
        status: Int, moment: Moment
    ) async throws {
        let stub = origin(moment) { Response(status: HTTPResponse.Status(code: status)) }
        let connection = cache(stub)
        let callers = await Callers.start(20) { number in try await read("\(number)", through: connection) }
        try await gate.waitForWaiting(20)

        _ = try await connection.send(.post("https://example.com/analytics", body: "event"))
        gate.open()
        for caller in callers { _ = try await caller.value }

        var hitCount = 0
        for number in 0..<20 where try await read("\(number)", through: connection) == .cache { hitCount += 1 }
        #expect(hitCount == 20)
        #expect(stub.requests.count == 21)
    }

    @Test func `A request without an answer invalidates its own URI alone`() async throws {
        gate.open()
        let connection = cache(origin { throw TransportError(.connectionLost, at: .head) })
        _ = try await read("page", through: connection)
        _ = try await read("other", through: connection)

        await #expect(throws: TransportError.self) {
            try await connection.send(Request(.put, "https://example.com/page", body: "new"))
        }

        #expect(try await read("page", through: connection) != .cache)
        #expect(try await read("other", through: connection) == .cache)
    }

    @Test(arguments: [400, 404, 500, 503])
    func `A refused request invalidates neither a stored response nor one under way`(status: Int) async throws {
        let stub = origin { Response(status: HTTPResponse.Status(code: status)) }
        let connection = cache(stub)
        let callers = await Callers.start { _ in try await read("page", through: connection) }
        try await gate.waitForWaiting(1)
        _ = try await connection.send(Request(.put, "https://example.com/page", body: "new"))
        gate.open()
        _ = try await callers[0].value

        #expect(try await read("page", through: connection) == .cache)
        _ = try await connection.send(Request(.delete, "https://example.com/page"))
        #expect(try await read("page", through: connection) == .cache)
    }
}

private struct WaitingReader: BodyReader {
    let gate: Gate
    var rest: Data?
    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        try await gate.wait()
        return rest.take()
    }
}
