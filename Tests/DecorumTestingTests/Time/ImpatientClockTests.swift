import Decorum
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct ImpatientClockTests {
    private let clock = ImpatientClock()

    @Test func `A sleep ends at once and moves the time`() async throws {
        let (start, date) = (clock.now, clock.date)
        try await clock.sleep(for: .seconds(3600))
        try await clock.sleep(until: start, tolerance: nil)
        #expect(clock.now - start == .seconds(3600))
        #expect(clock.date.timeIntervalSince(date) == 3600)
    }

    @Test func `A time limit passes when sleeps have moved the time as far`() async throws {
        let limit = clock.now + .seconds(10)
        async let passed: Void = clock.sleep(untilLimit: limit)
        try await clock.sleep(for: .seconds(9))
        #expect(clock.now < limit)
        try await clock.sleep(for: .seconds(1))
        try await passed
        try await clock.sleep(untilLimit: limit)
    }

    @Test func `The wait for a time limit ends when it is cancelled, before and while it waits`() async throws {
        let limit = clock.now + .seconds(10)
        for _ in 0..<100 {
            let task = Task { try await clock.sleep(untilLimit: limit) }
            if Bool.random() { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(clock.now < limit)
    }

    @Test func `A whole stack with time limits retries at once`() async throws {
        let busy = Response(status: .serviceUnavailable, fields: [.retryAfter: "3"])
        let stub = StubConnection(busy, busy, Response(status: .ok, body: "hello"))
        var stack = StandardStack(.app, for: "https://api.example.com/")
        stack.pacing = nil
        stack.retries?.budget = .perCall(3)
        let connection = try stack.composed(over: stub, clock: clock)
        #expect(try await connection.send(.get("items")).body.text(upTo: 100) == "hello")
        #expect(stub.requests.count == 3)
    }

    @Test(arguments: [3, 30])
    func `An attempt at a server that hangs ends at its limit, and no late answer counts`(seconds: Int) async throws {
        for _ in 0..<20 {
            let clock = ImpatientClock()
            let stub = StubConnection(clock: clock) { _ in
                try await clock.sleep(for: .seconds(seconds))
                return Response(status: .ok)
            }
            var stack = StandardStack(.app, for: "https://api.example.com/")
            stack.time?.call = .seconds(60)
            stack.attemptTime = .init(.seconds(2))
            stack.retries?.budget = .perCall(3)
            let connection = try stack.composed(over: stub, clock: clock)
            let error = await #expect(throws: TransportError.self) { try await connection.send(.get("items")) }
            #expect(error?.isTimeout == true)
            #expect(stub.requests.count > 1)
        }
    }
}
