public import Decorum
public import Foundation
import Synchronization

/// A clock that moves by itself, in no real time, to the next instant at which a task wakes, while it runs work.
///
/// ```swift
/// let clock = SimulatedClock()
/// let waited = try clock.run {
///     let start = clock.now
///     try await clock.sleep(until: start + .seconds(3600), tolerance: nil)
///     return clock.now - start
/// }
/// ```
///
/// The work and all tasks that it starts run on the calling thread, one part after the other, in an order that is the same in
/// each run. So a test of many tasks either fails each time or never. A wait that does not end on this clock, such as
/// `Task.sleep` or a hop to the main actor, ends the run with a ``SimulationError``.
public final class SimulatedClock: DatedClock {
    private let start = ContinuousClock.now
    private let startDate: Date
    private let elapsed = Atomic<Int64>(0)
    private let events = Mutex(Events())
    private let tasks: TaskQueue
    private let generator: SeededGenerator?

    /// Creates a clock.
    ///
    /// - Parameters:
    ///   - date: The date that it starts from; 14 November 2023, 22:13:20 UTC if not given.
    ///   - generator: Chooses the order of all that happens at the same moment, so that each seed tries another one; nil for
    ///     first come, first served.
    public convenience init(
        date: Date = Date(timeIntervalSince1970: 1_700_000_000), shufflingTasksBy generator: SeededGenerator? = nil
    ) {
        self.init(date: date, shufflingTasksBy: generator, jobLimit: 20_000_000)
    }

    /// Creates a clock whose run ends after a number of jobs without any time.
    package init(
        date: Date = Date(timeIntervalSince1970: 1_700_000_000), shufflingTasksBy generator: SeededGenerator? = nil,
        jobLimit: Int
    ) {
        startDate = date
        self.generator = generator
        tasks = TaskQueue(shuffledBy: generator, limit: jobLimit)
    }

    /// The instant to which the clock has moved.
    public var now: ContinuousClock.Instant { start.advanced(by: .nanoseconds(nanoseconds)) }

    /// The date to which the clock has moved.
    public var date: Date { startDate + TimeInterval(nanoseconds) / 1e9 }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// The time for which the clock has run.
    public var time: Duration { .nanoseconds(nanoseconds) }

    /// The same in nanoseconds.
    var nanoseconds: Int64 { elapsed.load(ordering: .relaxed) }

    /// Sleeps until the clock has moved to an instant, or until the task is cancelled.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        let instant = start.duration(to: deadline).nanoseconds
        guard instant > nanoseconds else { return }
        let number = events.withLock { $0.nextNumber() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isAdded = events.withLock { events in
                    // The cancellation handler may have run before the sleeper was there to be found.
                    guard !Task.isCancelled else { return false }
                    events.sleepers[number] = continuation
                    events.queue.insert((instant, number, nil))
                    return true
                }
                if !isAdded { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let sleeper = events.withLock { $0.sleepers.removeValue(forKey: number) }
            sleeper?.resume(throwing: CancellationError())
        }
    }

    /// Runs work, and all tasks that it starts, on the calling thread until the work has ended.
    ///
    /// A task that is still asleep then sleeps on, until the clock runs again.
    ///
    /// - Parameters:
    ///   - limit: The simulated time within which the work ends; a day by default.
    ///   - work: The work.
    /// - Returns: The value of the work.
    /// - Throws: The error of the work, or a ``SimulationError`` if it does not end.
    public func run<Value: Sendable>(
        within limit: Duration = .seconds(86_400), _ work: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        let limit = nanoseconds + limit.nanoseconds
        return try tasks.occupyThread {
            let outcome = Monitor<Result<Value, any Error>?>(nil)
            // The preference goes on to child tasks, in which `Task.yield` would leave after a call of an actor.
            let root = Task(executorPreference: tasks) {
                let result: Result<Value, any Error>
                do { result = .success(try await work()) } catch { result = .failure(error) }
                outcome.update { $0 = result }
            }
            do {
                try tasks.runReady()
                while outcome.state == nil {
                    guard let instant = performNext() else { throw SimulationError.stuck }
                    guard instant <= limit else { throw SimulationError.endless(.nanoseconds(limit)) }
                    try tasks.runReady(interruptedBy: performNextByChance)
                }
            } catch {
                root.cancel()
                try tasks.runReady()
                throw error
            }
            guard !tasks.hasForeignJob else { throw SimulationError.leftThread }
            guard let result = outcome.state else { throw SimulationError.stuck }
            return try result.get()
        }
    }

    /// With a random order, what happens at one moment may also happen before the tasks have gone on after the first of it.
    private func performNextByChance() {
        guard let generator, generator.uniform() < 0.25 else { return }
        _ = performNext(at: nanoseconds)
    }

    /// Performs an action when the clock comes to a time, in nanoseconds from its start.
    func perform(at instant: Int64, _ action: @escaping @Sendable () -> Void) {
        events.withLock { events in
            let number = events.nextNumber()
            events.queue.insert((max(instant, nanoseconds), number, action))
        }
    }

    /// Moves the clock to the next event, or to one at a single time, and performs it.
    ///
    /// - Parameter only: The time of the event; nil for any.
    /// - Returns: The time of the event; nil if there is none.
    private func performNext(at only: Int64? = nil) -> Int64? {
        while true {
            let (event, sleeper) = events.withLock { events in
                let isWanted = only == nil || events.queue.first?.instant == only
                let event = isWanted ? events.queue.popFirst() : nil
                return (event, event.flatMap { events.sleepers.removeValue(forKey: $0.number) })
            }
            guard let event else { return nil }
            // A sleep that was cancelled must not move the time.
            guard sleeper != nil || event.content != nil else { continue }
            elapsed.store(event.instant, ordering: .relaxed)
            sleeper?.resume()
            event.content?()
            return event.instant
        }
    }

    private struct Events {
        /// What happens at a time, in nanoseconds; nil for a task that wakes up.
        var queue = EventQueue<Int64, (@Sendable () -> Void)?>()
        var sleepers: [Int: CheckedContinuation<Void, any Error>] = [:]
        private var lastNumber = 0

        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }
}

extension Duration {
    /// The number of whole nanoseconds, at most 68 years of them, rounded up so that nothing happens too early.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = bounded.components
        return seconds * 1_000_000_000 + (attoseconds + (attoseconds > 0 ? 999_999_999 : 0)) / 1_000_000_000
    }
}
