import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Requests that are written in different ways and mean the same, or the reverse.
@Suite(.timeLimit(.minutes(3))) struct EquivalentRequestsTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()

    private func cache(_ base: some Connection) -> some Connection {
        base.caching(in: store, clock: clock, spawner: spawner)
    }

    private static func page(_ fields: HTTPFields = [:], _ text: String = "0123456789") -> Response {
        Response(
            status: .ok, fields: HTTPFields([.cacheControl: "max-age=60", .eTag: #""1""#] as HTTPFields + fields),
            body: Body(text))
    }

    private func request(
        _ authority: String, _ path: String, method: HTTPRequest.Method = .get, fields: HTTPFields = [:]
    ) -> Request {
        Request(
            head: HTTPRequest(
                method: method, scheme: "https", authority: authority, path: path, headerFields: fields))
    }

    static let spellings = [
        ("example.com", "/%7Ejoe/page"), ("example.com", "/%7ejoe/page"), ("example.com:443", "/~joe/page"),
        ("EXAMPLE.com", "/~joe/page"), ("example.com", "/a/../~joe/./page"),
    ]

    @Test(arguments: spellings)
    func `A URI is found under each of its spellings`(authority: String, path: String) async throws {
        let stub = StubConnection(Self.page(), Self.page())
        let connection = cache(stub)
        _ = try await connection.send(request("example.com", "/~joe/page"))
        let response = try await connection.send(request(authority, path))
        #expect(response.metadata.source == .cache)
        #expect(stub.requests.count == 1)
    }

    @Test(arguments: [
        ("a=1", "text/plain", true), ("a=2", "text/plain", false), ("a=1", "application/json", false),
    ])
    func `A QUERY is answered by the response to the same content`(
        content: String, type: String, isHit: Bool
    ) async throws {
        let stub = StubConnection { request in
            Self.page([:], "\(try await request.body.text(upTo: 100)) \(request.head.headerFields[.contentType] ?? "")")
        }
        let connection = cache(stub)
        func query(_ content: String, _ type: String) async throws -> Response {
            try await connection.send(
                Request(
                    .query, "https://example.com/search", fields: [.contentType: type],
                    body: Body(content)))
        }
        _ = try await query("a=1", "text/plain")
        let response = try await query(content, type)
        #expect(try await response.body.text(upTo: 100) == "\(content) \(type)")
        #expect((response.metadata.source == .cache) == isHit)

        let plain = try await connection.send(.get("https://example.com/search"))
        #expect(plain.metadata.source != .cache)
    }

    @Test func `A range with a condition is served from the stored response if the tag is the same`() async throws {
        let stub = StubConnection(Self.page(), Self.page())
        let connection = cache(stub)
        _ = try await connection.send(request("example.com", "/page"))

        let part = try await connection.send(
            request("example.com", "/page", fields: [.range: "bytes=2-4", .ifRange: #""1""#]))
        #expect(part.status == .partialContent)
        #expect(part.metadata.source == .cache)
        #expect(try await part.body.text(upTo: 100) == "234")
        #expect(part.head.headerFields[.contentRange] == "bytes 2-4/10")
        #expect(stub.requests.count == 1)
    }
}
