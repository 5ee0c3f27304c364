import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct RevalidatingTests {
    let store = MemoryResponseStore()

    static let page = Response(
        status: .ok,
        fields: [.eTag: #""1""#, .lastModified: "Sat, 29 Oct 1994 19:43:31 GMT", .contentType: "text/plain"],
        body: "page")
    static let notModified = Response(status: .notModified, fields: [.eTag: #""1""#, .age: "0"])

    private func get(_ fields: HTTPFields = [:]) throws -> Request {
        try .get("https://example.com/page", fields: fields)
    }

    @Test func `The first request is unconditional and the second carries both validators`() async throws {
        let stub = StubConnection(Self.page, Self.notModified)
        let connection = stub.revalidating(in: store)

        _ = try await connection.send(get())
        _ = try await connection.send(get())

        let sent = stub.requests.map(\.head.headerFields)
        #expect(sent[0].isEmpty)
        #expect(sent[1] == [.ifNoneMatch: #""1""#, .ifModifiedSince: "Sat, 29 Oct 1994 19:43:31 GMT"])
    }

    @Test func `A 304 is answered with the stored response and its own fields`() async throws {
        let connection = StubConnection(Self.page, Self.notModified).revalidating(in: store)

        _ = try await connection.send(get())
        let response = try await connection.send(get())

        #expect(response.status == .ok)
        #expect(response.head.headerFields[.age] == "0")
        #expect(response.head.headerFields[.contentType] == "text/plain")
        #expect(response.metadata.source == .revalidated)
        #expect(try await response.body.text(upTo: 100) == "page")
    }

    @Test func `A caller may get the 304 itself`() async throws {
        let connection = StubConnection(Self.page, Self.notModified).revalidating(in: store, answering: .notModified)

        _ = try await connection.send(get())
        let response = try await connection.send(get())

        #expect(response.status == .notModified)
        #expect(response.metadata.source == .stub)
        let stored = try #require(response.metadata.storedResponse)
        #expect(stored.head.status == .ok)
        #expect(stored.body == "page")
    }

    @Test func `Fields and closures that add credentials count as layers that add them`() async throws {
        let stub = StubConnection { _ in Self.page }
        let connections: [any Connection] = [
            stub.overridingFields(with: [.authorization: "Bearer a"]).revalidating(in: store),
            stub.addingDefaultFields([.cookie: "session=1"]).revalidating(in: store),
            stub.intercepting("signing", facts: [.addsCredentials]) { request, base in try await base.send(request) }
                .revalidating(in: store),
        ]
        for connection in connections { _ = try await connection.send(get()) }
        #expect(store.count == 0)

        _ = try await stub.addingDefaultFields([.accept: "text/html"]).revalidating(in: store).send(get())
        #expect(store.count == 1)
    }
}
