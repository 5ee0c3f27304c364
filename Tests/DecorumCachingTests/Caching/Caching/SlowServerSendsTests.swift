import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// How often a cache sends for one call when its stale response is removed while the server is slow.
@Suite(.timeLimit(.minutes(3))) struct SlowServerSendsTests {
    @Test func `A call is sent four times at most, as the layer declares`() async throws {
        let (clock, gate, spawner) = (VirtualClock(), Gate(), TrackingSpawner())
        let store = MemoryResponseStore()
        let count = Mutex(0)
        let base = StubConnection { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 1 {
                return Response(
                    status: .ok, fields: [.cacheControl: "max-age=1", .eTag: #""1""#, .vary: "Accept"], body: "old")
            }
            if number == 2 { try await gate.wait() }
            // The answer confirms another response, so that the cache asks without conditions.
            let isConditional = request.head.headerFields.contains(.ifNoneMatch)
            return Response(status: isConditional ? .notModified : .ok, fields: [.eTag: #""2""#], body: .empty)
        }
        var policy = CachingPolicy.standard
        policy.staleIfSlow = .seconds(2)
        let connection = base.caching(in: store, policy: policy, clock: clock, spawner: spawner)
        let request = try Request.get("https://example.com/page")
        _ = try await connection.send(request).body.data(upTo: 100)
        clock.advance(by: .seconds(10))

        let caller = Task { try await connection.send(request) }
        try await clock.waitForSleepers()
        try await gate.waitForWaiting(1)
        store.removeResponses(for: try #require(ResponseKey(request)))
        clock.advance(by: .seconds(2))
        #expect(try await caller.value.status == .ok)
        gate.open()
        try await spawner.finished()

        let sends = count.withLock { $0 } - 1
        #expect(sends == 4)
        #expect(connection.layers.first?.sending.times == 0...4)
        #expect(base.caching(in: store).layers.first?.sending.times == 0...2)
    }
}
