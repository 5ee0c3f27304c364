import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The time that a caller waits where other callers, or the cache itself, have requested the same.
@Suite(.timeLimit(.minutes(3))) struct SharedTimeoutTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()

    private func cache(_ base: some Connection) -> some Connection {
        var policy = CachingPolicy.standard
        policy.staleIfUnreachable = .zero
        return base.caching(in: store, policy: policy, clock: clock, spawner: spawner)
    }

    private func get(idleTimeout: Duration? = nil) throws -> Request {
        var request = try Request.get("https://example.com/page")
        request.options.idleTimeout = idleTimeout
        return request
    }

    /// A server that does not answer, over a transport that keeps the idle timeout of each request.
    private var silence: StubConnection.Answer {
        { [clock] request in
            try await clock.sleep(for: request.options.idleTimeout ?? .seconds(60))
            throw TransportError(.timedOut, at: .head)
        }
    }

    @Test(arguments: [Duration.seconds(2), nil])
    func `A request does not wait for a validation in the background`(idleTimeout: Duration?) async throws {
        let old = Response(
            status: .ok, fields: [.cacheControl: "max-age=1, stale-while-revalidate=60", .eTag: #""1""#], body: "old")
        let stub = StubConnection(answers: [{ _ in old }], then: silence)
        let connection = cache(stub)
        // Ends all sleeps, also where the test fails.
        defer { clock.advance(by: .seconds(1000)) }
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))
        #expect(try await connection.send(get()).body == "old")
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(52))

        let callers = await Callers.start { _ in try await connection.send(get(idleTimeout: idleTimeout)).status }
        try #require(await soon { stub.requests.count == 3 })
        try await clock.waitForSleepers(2)
        clock.advance(by: idleTimeout ?? .seconds(60))
        await #expect(throws: TransportError.self) { try await callers[0].value }
    }

    @Test func `A caller waits no longer for a shared request than for a request of the caller's own`() async throws {
        let stub = StubConnection(answers: [], then: silence)
        let connection = cache(stub)
        defer { clock.advance(by: .seconds(1000)) }
        let patient = await Callers.start { _ in try await connection.send(get()).status }
        try await clock.waitForSleepers()
        let ended = Gate()
        let callers = await Callers.start { _ in
            defer { ended.open() }
            return try await connection.send(get(idleTimeout: .seconds(2))).status
        }
        try await clock.waitForSleepers(2)

        clock.advance(by: .seconds(2))
        try #require(await soon { ended.isOpen })
        await #expect(throws: TransportError.self) { try await callers[0].value }
        clock.advance(by: .seconds(60))
        await #expect(throws: TransportError.self) { try await patient[0].value }
    }
}
