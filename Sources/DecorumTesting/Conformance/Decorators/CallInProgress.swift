import Decorum

/// A call in a separate task, which a law waits for and cancels.
struct CallInProgress<Value: Sendable>: Sendable {
    private let task: Task<Value, any Error>
    private let end = Gate()

    init(_ call: @escaping @Sendable () async throws -> Value) {
        task = Task { [end] in
            defer { end.open() }
            return try await call()
        }
    }

    /// Waits until something waits at a gate, or the call has ended; returns whether the gate was reached.
    func waits(at gate: Gate) async throws -> Bool {
        try await first { try await gate.waitForWaiting(1) }
    }

    /// Waits until the call does nothing but sleep on a clock, or has ended; returns whether it sleeps.
    ///
    /// A layer may also sleep beside its work, as a timeout does. The call then goes on, and the method gives it time to.
    func sleeps(on clock: VirtualClock, whileIdle busy: Monitor<Int>) async throws -> Bool {
        guard try await first({ try await clock.waitForSleepers() }) else { return false }
        for _ in 0..<200 { await Task.yield() }
        return !end.isOpen && busy.state == 0 && !clock.pendingSleeps.isEmpty
    }

    /// Cancels the call, and waits for its end.
    func cancelled(_ sentence: String) async throws -> Result<Value, any Error> {
        task.cancel()
        return try await withDeadline(sentence) { [task] in await task.result }
    }

    /// Waits for the end.
    func value() async throws -> Value {
        try await withDeadline(of: .seconds(20), "The call did not end.") { [task] in try await task.value }
    }

    private func first(_ event: @escaping @Sendable () async throws -> Void) async throws -> Bool {
        try await withDeadline(of: .seconds(20), "The call neither ended nor went on.") { [end] in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await event()
                    return true
                }
                group.addTask {
                    try await end.wait()
                    return false
                }
                defer { group.cancelAll() }
                return try await group.next() ?? false
            }
        }
    }
}
