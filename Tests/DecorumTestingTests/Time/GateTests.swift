import DecorumTesting
import Testing

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
        let task = Task {
            // The task is not used outside of the closure.
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await gate.wait()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.admit()
        try await gate.wait()
        #expect(gate.waitingCount == 0)
    }
}
