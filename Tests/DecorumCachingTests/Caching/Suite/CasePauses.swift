import DecorumTesting
import Synchronization

/// The pauses of cases that run at once: the time moves on only when every case waits for it.
///
/// So each case sees exactly the time of its own pauses, as if it ran alone.
final class CasePauses: Sendable {
    private struct State {
        /// The number of cases that have not ended.
        var rest = 0
        var width = 0
        /// When each waiting case goes on.
        var deadlines: [ContinuousClock.Instant] = []
    }

    let clock = VirtualClock()
    private let state = Mutex(State())

    /// Begins with a number of cases, of which so many run at once.
    func begin(_ count: Int, atMost width: Int) {
        state.withLock { $0 = State(rest: count, width: width) }
    }

    /// Ends a case, for which no other case waits any more.
    func end() {
        change { $0.rest -= 1 }
    }

    /// Waits until the time has moved on.
    func pause(for duration: Duration) async throws {
        let deadline = clock.now + duration
        change { $0.deadlines.append(deadline) }
        try await clock.sleep(until: deadline, tolerance: nil)
    }

    private func change(_ change: (inout State) -> Void) {
        let next = state.withLock { state -> ContinuousClock.Instant? in
            change(&state)
            guard let next = state.deadlines.min(), state.deadlines.count >= min(state.width, state.rest) else {
                return nil
            }
            state.deadlines.removeAll { $0 <= next }
            return next
        }
        if let next { clock.advance(by: next - clock.now) }
    }
}
