import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Stored responses where the server does not answer before a deadline, and requests behind the back of a caller.
@Suite(.timeLimit(.minutes(5))) struct CacheDeadlineTests {
    let clock = VirtualClock()
    let gate = Gate()
    let spawner = TrackingSpawner()

    /// A server that answers once at once, and later when it is let.
    private func slowServer(_ cacheControl: String) -> StubConnection {
        let first: StubConnection.Answer = { _ in
            Response(status: .ok, fields: [.cacheControl: cacheControl, .eTag: #""1""#], body: "old")
        }
        return StubConnection(answers: [first]) { [gate] _ in
            try await gate.wait()
            return Response(status: .ok, fields: [.cacheControl: cacheControl], body: "new")
        }
    }

    private func request(within time: Duration? = nil) throws -> Request {
        var request = try Request.get("https://a.example/page")
        request.options.deadline = time.map { clock.now + $0 }
        return request
    }

    @Test func `A stale response is used when the deadline passes before the server answers`() async throws {
        let stub = slowServer("max-age=10")
        let connection = stub.caching(in: MemoryResponseStore(), clock: clock, spawner: spawner)
        _ = try await connection.send(request()).body.text(upTo: 10)
        clock.advance(by: .seconds(20))
        let late = try request(within: .seconds(5))
        let call = Task { try await connection.send(late) }
        try await gate.waitForWaiting(1)
        clock.advance(by: .seconds(5))
        let response = try await call.value
        #expect(try await response.body.text(upTo: 10) == "old")
        #expect(response.metadata.source == .cache)
        #expect(stub.requests.count == 2)
    }

    @Test func `A wait for a slow server ends at the deadline, before the policy's time`() async throws {
        var policy = CachingPolicy.standard
        policy.staleIfSlow = .seconds(60)
        let stub = slowServer("max-age=10")
        let connection = stub.caching(in: MemoryResponseStore(), policy: policy, clock: clock, spawner: spawner)
        _ = try await connection.send(request()).body.text(upTo: 10)
        clock.advance(by: .seconds(20))
        let late = try request(within: .seconds(5))
        let call = Task { try await connection.send(late) }
        try await gate.waitForWaiting(1)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(try await call.value.body.text(upTo: 10) == "old")

        // The request goes on without the deadline, and what it brings is stored.
        #expect(stub.requests.last?.options.deadline == nil)
        gate.open()
        try await spawner.finished()
        let next = try await connection.send(request())
        #expect(try await next.body.text(upTo: 10) == "new")
        #expect(next.metadata.source == .cache)
    }

    @Test func `A validation in the background has none of what belongs to the call`() async throws {
        gate.open()
        let stub = slowServer("max-age=10, stale-while-revalidate=60")
        let connection = stub.caching(in: MemoryResponseStore(), clock: clock, spawner: spawner)
        _ = try await connection.send(request()).body.text(upTo: 10)
        clock.advance(by: .seconds(20))
        var stale = try request(within: .seconds(5))
        stale.options.callContext = CallContext(id: 7)
        stale.options.secretFields = [.accept]
        stale.options.retryPolicy = .never
        #expect(try await connection.send(stale).body.text(upTo: 10) == "old")
        try await spawner.finished()

        let options = try #require(stub.requests.last?.options)
        #expect(stub.requests.count == 2)
        #expect(options.deadline == nil && options.callContext == nil)
        #expect(options.secretFields.contains(.accept) && options.retryPolicy == .never)
    }

    @Test func `A stored response answers also after the deadline`() async throws {
        let stub = slowServer("max-age=10")
        let connection = stub.caching(in: MemoryResponseStore(), clock: clock, spawner: spawner)
        _ = try await connection.send(request()).body.text(upTo: 10)
        let response = try await connection.send(request(within: .zero))
        #expect(try await response.body.text(upTo: 10) == "old")
        #expect(stub.requests.count == 1)
    }
}
