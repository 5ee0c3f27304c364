import Decorum
import DecorumTestSupport
import DecorumTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct TimeLimitWatchTests {
    private final class Transfer: TimeLimited {
        let isCancelled = Mutex(false)

        let timeLimit: TimeLimit? = TimeLimit(at: .now + .seconds(3600), because: .idle)

        func timeOut(at limit: TimeLimit) {}

        func cancel() {
            isCancelled.withLock { $0 = true }
        }
    }

    @Test func `What is watched is cancelled, and nothing else`() {
        let watch = TimeLimitWatch(clock: VirtualClock())
        let (watched, removed, next) = (Transfer(), Transfer(), Transfer())
        watch.add(watched)
        watch.add(removed)
        watch.remove(removed)
        watch.cancelAll()
        watch.add(next)
        #expect([watched, removed, next].map { $0.isCancelled.withLock(\.self) } == [true, false, false])
    }

    @Test(arguments: [.seconds(3600), nil] as [Duration?])
    func `A wait is cancelled with its work, and one that begins later is not`(limit: Duration?) async throws {
        let clock = VirtualClock()
        let watch = TimeLimitWatch(clock: clock)
        let gate = Gate()
        let wait = Task {
            try await watch.leavableValue(until: limit.map { clock.now + $0 }) { try await gate.wait() }
        }
        try await gate.waitForWaiting(1)
        watch.cancelAll()
        await #expect(throws: CancellationError.self) { try await wait.value }
        try await yield { gate.waitingCount == 0 }
        #expect(try await watch.leavableValue(until: nil) { true } == true)
    }
}
