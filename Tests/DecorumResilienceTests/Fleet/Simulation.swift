import Decorum
import Foundation
import Synchronization

/// A world in which time is virtual: its tasks run one after another on one thread, and when all of them wait, the time
/// moves to the next instant for which one waits.
///
/// Two simulations of the same work with the same seeds are the same.
final class Simulation: TaskExecutor {
    fileprivate struct State {
        var jobs: [UnownedJob] = []
        var firstJob = 0
        var sleepers = Sleepers()
        var elapsed = Duration.zero
        var isOver = false
    }

    private let state = Mutex(State())
    private let start = ContinuousClock.now

    /// Runs work and everything that it starts to the end.
    func run<Value: Sendable>(_ work: @escaping @Sendable (_ clock: SimulatedClock) async -> Value) async -> Value {
        let clock = SimulatedClock(simulation: self)
        let task = Task(executorPreference: self) {
            let value = await work(clock)
            self.state.withLock { $0.isOver = true }
            return value
        }
        await withCheckedContinuation { continuation in
            // The thread of a test must not be blocked for as long as a simulation takes.
            Thread { [self] in
                runJobs()
                continuation.resume()
            }
            .start()
        }
        return await task.value
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
    }

    private func runJobs() {
        while true {
            let (job, isOver) = state.withLock { ($0.takeJob(), $0.isOver) }
            if let job {
                // Safe: each job is taken once, and the executor outlives the loop.
                unsafe job.runSynchronously(on: asUnownedTaskExecutor())
            } else if isOver {
                return
            } else if let sleeper = state.withLock({ $0.wake() }) {
                sleeper.resume()
            } else {
                // The task has been made and not yet been enqueued.
                Thread.sleep(forTimeInterval: 0.001)
            }
        }
    }

    fileprivate var now: ContinuousClock.Instant { start + elapsed }

    /// The time that has passed.
    var elapsed: Duration { state.withLock { $0.elapsed } }

    fileprivate func sleep(until deadline: ContinuousClock.Instant) async {
        await withCheckedContinuation { sleeper in
            state.withLock { $0.sleepers.add(sleeper, until: deadline - start) }
        }
    }
}

extension Simulation.State {
    fileprivate mutating func takeJob() -> UnownedJob? {
        guard firstJob < jobs.count else { return nil }
        defer {
            firstJob += 1
            if firstJob == jobs.count {
                jobs.removeAll(keepingCapacity: true)
                firstJob = 0
            }
        }
        return jobs[firstJob]
    }

    fileprivate mutating func wake() -> CheckedContinuation<Void, Never>? {
        guard let (deadline, sleeper) = sleepers.takeFirst() else { return nil }
        elapsed = max(elapsed, deadline)
        return sleeper
    }
}

/// The clock of a simulation.
///
/// Its sleeps cannot be cancelled, since no task of a fleet is.
struct SimulatedClock: DatedClock {
    fileprivate let simulation: Simulation

    var now: ContinuousClock.Instant { simulation.now }
    var date: Date { Date(timeIntervalSince1970: 1_700_000_000 + simulation.elapsed / .seconds(1)) }
    var minimumResolution: Duration { .nanoseconds(1) }
    /// The time that has passed.
    var elapsed: Duration { simulation.elapsed }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        await simulation.sleep(until: deadline)
    }
}

/// The tasks that sleep, in a binary heap: the one that wakes first is on top; of two, the one that came first.
private struct Sleepers {
    private struct Entry {
        let deadline: Duration
        let number: Int
        let sleeper: CheckedContinuation<Void, Never>

        func precedes(_ other: Entry) -> Bool {
            deadline == other.deadline ? number < other.number : deadline < other.deadline
        }
    }

    private var entries: [Entry] = []
    private var lastNumber = 0

    mutating func add(_ sleeper: CheckedContinuation<Void, Never>, until deadline: Duration) {
        lastNumber += 1
        entries.append(Entry(deadline: deadline, number: lastNumber, sleeper: sleeper))
        var index = entries.count - 1
        while index > 0, entries[index].precedes(entries[(index - 1) / 2]) {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func takeFirst() -> (Duration, CheckedContinuation<Void, Never>)? {
        guard let first = entries.first else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var index = 0
        while let child = [2 * index + 1, 2 * index + 2].filter({ $0 < entries.count }).min(by: {
            entries[$0].precedes(entries[$1])
        }), entries[child].precedes(entries[index]) {
            entries.swapAt(index, child)
            index = child
        }
        return (first.deadline, first.sleeper)
    }
}
