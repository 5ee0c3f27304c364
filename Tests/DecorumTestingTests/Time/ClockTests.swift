import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct VirtualClockTests {
    let clock = VirtualClock(date: Date(timeIntervalSince1970: 1000))

    @Test func `The clock stands still until it is moved`() {
        let start = clock.now
        clock.advance(by: .milliseconds(1500))
        clock.advance(by: .seconds(-7))
        #expect(clock.now - start == .milliseconds(1500))
        #expect(clock.date == Date(timeIntervalSince1970: 1001.5))
    }

    @Test func `A sleeper wakes at its deadline and not before`() async throws {
        let start = clock.now
        async let woken: Duration = {
            try await clock.sleep(for: .seconds(10))
            return clock.now - start
        }()
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(9))
        #expect(clock.pendingSleeps == [.seconds(1)])
        clock.advance(by: .seconds(1))
        #expect(try await woken == .seconds(10))
        #expect(clock.pendingSleeps.isEmpty)
    }

    @Test func `Many sleepers wake in any number of steps`() async throws {
        let woken = try await withThrowingTaskGroup(of: Int.self) { group in
            for seconds in 1...100 {
                group.addTask {
                    try await clock.sleep(for: .seconds(seconds))
                    return seconds
                }
            }
            try await clock.waitForSleepers(100)
            clock.advance(by: .seconds(50))
            #expect(clock.pendingSleeps.count == 50)
            clock.advance(by: .seconds(50))
            return try await group.reduce(0, +)
        }
        #expect(woken == 5050)
    }

    @Test func `A cancelled sleeper leaves`() async throws {
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        try await clock.waitForSleepers()
        sleeper.cancel()
        // At once, though the task may not have got a thread yet.
        #expect(clock.pendingSleeps.isEmpty)
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.pendingSleeps.isEmpty)
    }

    @Test func `A task that is cancelled already does not sleep`() async throws {
        await #expect(throws: CancellationError.self) {
            try await cancelled { [clock] in try await clock.sleep(for: .seconds(1)) }
        }
    }

    @Test func `Waiting for sleepers that never come ends with an error`() async throws {
        await #expect(throws: NoSleeperError.self) { try await clock.waitForSleepers(within: .zero) }
    }
}

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

@Suite(.timeLimit(.minutes(3))) struct GateTests {
    @Test func `An open gate lets everybody pass until it closes`() async throws {
        let gate = Gate()
        #expect(!gate.isOpen)
        gate.open()
        try await gate.wait()
        try await gate.wait()
        #expect(gate.isOpen)
        gate.close()
        let task = Task { try await gate.wait() }
        try await gate.waitForWaiting(1)
        gate.open()
        try await task.value
        #expect(gate.waitingCount == 0)
    }

    @Test func `Admissions let as many pass, now or later`() async throws {
        let gate = Gate()
        gate.admit(2)
        try await withThrowingTaskGroup { group in
            for _ in 0..<5 {
                group.addTask { try await gate.wait() }
            }
            try await group.next()
            try await group.next()
            try await gate.waitForWaiting(3)
            #expect(gate.waitingCount == 3)

            gate.admit()
            try await group.next()
            #expect(gate.waitingCount == 2)

            group.cancelAll()
            await #expect(throws: CancellationError.self) { try await group.next() }
        }
        #expect(gate.waitingCount == 0)
    }

    @Test func `A task that was let through no longer counts as waiting, even before it runs again`() async throws {
        let gate = Gate()
        let task = Task { try await gate.wait() }
        try await gate.waitForWaiting(1)
        gate.admit()
        #expect(gate.waitingCount == 0)
        try await task.value

        gate.admit()
        let later = Task { [gate] in
            try await gate.wait()
            try await gate.wait()
        }
        try await gate.waitForWaiting(1)
        later.cancel()
        await #expect(throws: CancellationError.self) { try await later.value }
        try await gate.waitForArrivals(3)
    }

    @Test func `A cancelled task does not pass a closed gate`() async throws {
        let gate = Gate()
        await #expect(throws: CancellationError.self) { try await cancelled { try await gate.wait() } }
        gate.admit()
        try await gate.wait()
        #expect(gate.waitingCount == 0)
    }
}
