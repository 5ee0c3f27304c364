import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The behaviour of a cache that a caller sees.
@Suite(.timeLimit(.minutes(3))) struct CachingTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()

    static let fresh = Response(
        status: .ok, fields: [.cacheControl: "max-age=60", .eTag: #""1""#, .contentType: "text/plain"], body: "page")
    static let notModified = Response(status: .notModified, fields: [.cacheControl: "max-age=60", .eTag: #""1""#])

    private func cache(_ base: some Connection, policy: CachingPolicy = .standard) -> some Connection {
        base.caching(in: store, policy: policy, clock: clock, spawner: spawner)
    }

    private func get(_ fields: HTTPFields = [:]) throws -> Request {
        try .get("https://example.com/page", fields: fields)
    }

    private func text(_ response: Response) async throws -> String {
        try await response.body.text(upTo: 1000)
    }

    @Test func `A fresh response is served without a request, with its age`() async throws {
        let stub = StubConnection(Self.fresh)
        let connection = cache(stub)

        let miss = try await connection.send(get())
        #expect(miss.metadata.source == .stub)
        #expect(miss.metadata.cacheStatus?.forwardReason == .uriMiss)
        #expect(miss.metadata.cacheStatus?.isStored == true)
        clock.advance(by: .seconds(20))
        let hit = try await connection.send(get())

        #expect(stub.requests.count == 1)
        #expect(hit.status == .ok)
        #expect(hit.head.headerFields[.age] == "20")
        #expect(hit.metadata.source == .cache)
        #expect(hit.metadata.cacheStatus?.isHit == true)
        #expect(hit.metadata.cacheStatus?.timeToLive == .seconds(40))
        #expect(hit.metadata.url?.absoluteString == "https://example.com/page")
        #expect(try await text(hit) == "page")
    }

    @Test func `A stale response is validated, and the fields of the 304 are stored`() async throws {
        let stub = StubConnection(Self.fresh, Self.notModified)
        let connection = cache(stub)

        _ = try await connection.send(get())
        clock.advance(by: .seconds(61))
        let validated = try await connection.send(get())
        let hit = try await connection.send(get())

        #expect(stub.requests.count == 2)
        #expect(stub.requests[1].head.headerFields[.ifNoneMatch] == #""1""#)
        #expect(validated.status == .ok)
        #expect(validated.metadata.source == .revalidated)
        #expect(validated.metadata.cacheStatus?.forwardReason == .stale)
        #expect(validated.metadata.cacheStatus?.forwardStatus == .notModified)
        #expect(validated.metadata.storedResponse == nil)
        #expect(try await text(validated) == "page")
        #expect(hit.metadata.source == .cache)
    }

    @Test func `After a 304 about another representation, the request is sent without conditions`() async throws {
        let other = Response(status: .notModified, fields: [.eTag: #""2""#])
        let new = Response(status: .ok, fields: [.eTag: #""3""#], body: "new")
        let stub = StubConnection(Self.fresh, other, new)
        let connection = cache(stub)

        _ = try await connection.send(get())
        clock.advance(by: .seconds(61))
        let response = try await connection.send(get())

        #expect(try await text(response) == "new")
        #expect(stub.requests.count == 3)
        #expect(!stub.requests[2].head.headerFields.contains(.ifNoneMatch))
        #expect(response.metadata.attempts == 2)
    }

    @Test func `Only-if-cached without a stored response gives 504, and sends nothing`() async throws {
        let stub = StubConnection(Self.fresh)
        let connection = cache(stub)
        var request = try get()
        request.options.cacheUse = .onlyStored

        let miss = try await connection.send(request)
        #expect(miss.status == .gatewayTimeout)
        #expect(stub.requests.isEmpty)

        _ = try await connection.send(get())
        clock.advance(by: .seconds(1000))
        let hit = try await connection.send(request)
        #expect(try await text(hit) == "page")
        #expect(stub.requests.count == 1)
        #expect(stub.requests[0].head.headerFields.isEmpty)
    }

    @Test func `A HEAD is answered with the stored response of a GET, and refreshes it`() async throws {
        let head = Response(status: .ok, fields: [.cacheControl: "max-age=60", .eTag: #""1""#, .allow: "GET"])
        let stub = StubConnection(Self.fresh, head)
        let connection = cache(stub)
        let request = try Request(.head, "https://example.com/page")

        _ = try await connection.send(get())
        let hit = try await connection.send(request)
        #expect(hit.status == .ok)
        #expect(hit.body.isEmpty)
        clock.advance(by: .seconds(61))
        _ = try await connection.send(request)
        let refreshed = try await connection.send(get())

        #expect(stub.requests.map(\.head.method) == [.get, .head])
        #expect(refreshed.head.headerFields[.allow] == "GET")
        #expect(try await text(refreshed) == "page")
    }

    @Test func `An unsafe request removes the responses that it changes, for all principals`() async throws {
        let created = Response(
            status: .created, fields: [.location: "/items/1", .contentLocation: "https://evil.example/x"])
        let stub = StubConnection { request in request.head.method == .post ? created : Self.fresh }
        let connection = cache(stub)
        var theirs = try get()
        theirs.options.principal = Principal("other")
        for request in try [get(), theirs, .get("https://example.com/items/1"), .get("https://evil.example/x")] {
            _ = try await connection.send(request)
        }
        #expect(store.count == 4)

        _ = try await connection.send(.post("https://example.com/page", body: "x"))

        #expect(store.count == 1)
        let kept = try await connection.send(.get("https://evil.example/x"))
        #expect(kept.metadata.source == .cache)
    }

    @Test func `An app may refuse to store, and have the status as a field`() async throws {
        var policy = CachingPolicy.standard
        policy.mayStore = { request, _ in request.path != "/page" }
        policy.addsCacheStatusField = true
        policy.name = "App"
        let stub = StubConnection { _ in Self.fresh }
        let connection = cache(stub, policy: policy)

        let refused = try await connection.send(get())
        _ = try await connection.send(.get("https://example.com/other"))
        let hit = try await connection.send(.get("https://example.com/other"))

        let status = #"App;fwd=uri-miss;stored=?0;detail="not stored: the policy of the cache forbids it""#
        #expect(refused.head.headerFields[named: "Cache-Status"] == status)
        #expect(hit.head.headerFields[named: "Cache-Status"] == "App;hit;ttl=60")
        #expect(store.count == 1)
    }
}
