import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Tests of `addingIdempotencyKey` and `addingRequestID`.
@Suite(.timeLimit(.minutes(3))) struct IdentifiersTests {
    private let generator = SeededGenerator(seed: 1)

    @Test func `All attempts of a POST have one key, so that it may be sent again`() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable), Response(status: .ok))
        let connection = stub.retrying(clock: ImpatientClock()).addingIdempotencyKey(generator: generator)

        let response = try await connection.send(.post("https://a.example/", body: "content"))

        #expect(response.status == .ok)
        let keys = try stub.requests.map { try #require($0.head.headerFields[try name("Idempotency-Key")]) }
        #expect(keys.count == 2 && keys[0] == keys[1])
        let uuid = try #require(try StructuredItem(parsing: keys[0]).value.string)
        #expect(uuid.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }

    @Test func `Two calls have two keys, and methods that need none get none`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = stub.addingIdempotencyKey(generator: generator)

        for method in [HTTPRequest.Method.post, .patch, .get, .put, .delete] {
            _ = try await connection.send(Request(method, "https://a.example/"))
        }

        let field = try name("Idempotency-Key")
        let keys = stub.requests.map { $0.head.headerFields[field] }
        #expect(keys[0] != nil && keys[1] != nil && keys[0] != keys[1])
        #expect(keys[2...] == [nil, nil, nil])
    }

    @Test func `A key of the request's own is kept`() async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        let connection = stub.addingIdempotencyKey()
        let field = try name("Idempotency-Key")
        var kept = try Request.post("https://a.example/", body: "content")
        kept.head.headerFields[field] = "7"
        var chosen = try Request.post("https://a.example/", body: "content")
        chosen.options.idempotencyKey = "order-42"
        var odd = chosen
        odd.options.idempotencyKey = "é"

        _ = try await connection.send(kept)
        _ = try await connection.send(chosen)
        await #expect(throws: StructuredFieldError.self) { try await connection.send(odd) }

        #expect(stub.requests.map { $0.head.headerFields[field] } == ["7", "\"order-42\""])
    }

    @Test func `All requests of a call have one identifier, and two calls have two`() async throws {
        let stub = StubConnection(
            Response(status: .found, fields: [.location: "/2"]), Response(status: .serviceUnavailable),
            Response(status: .ok), Response(status: .ok))
        let connection = stub.retrying(clock: ImpatientClock()).followingRedirects()
            .addingRequestID(generator: generator)

        _ = try await connection.send(.get("https://a.example/"))
        _ = try await connection.send(.get("https://a.example/"))

        let field = try name("X-Request-ID")
        let ids = stub.requests.map { $0.head.headerFields[field] }
        #expect(ids[0]?.count == 36 && ids[0] == ids[1] && ids[1] == ids[2])
        #expect(ids[3] != nil && ids[3] != ids[0])
        #expect(stub.requests.map(\.options.requestID) == ids)
    }

    @Test func `The caller may know the identifier of a call that fails`() async throws {
        let stub = StubConnection { _ in throw TransportError(.connectionRefused, at: .connecting) }
        var request = try Request.get("https://a.example/")
        request.options.requestID = "call-1"

        await #expect(throws: TransportError.self) {
            try await stub.addingRequestID(as: try name("X-Correlation-ID")).send(request)
        }
        #expect(stub.requests.map { $0.head.headerFields[try? name("X-Correlation-ID")] } == ["call-1"])
    }

    private func name(_ text: String) throws -> HTTPField.Name { try #require(HTTPField.Name(text)) }
}

extension HTTPFields {
    fileprivate subscript(_ name: HTTPField.Name?) -> String? { name.flatMap { self[$0] } }
}
