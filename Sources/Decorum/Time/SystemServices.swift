public import Foundation
import Synchronization

/// The time that layers use: a monotonic clock and the date, in one value that a test can replace.
///
/// Every modifier that waits, measures time or needs the date takes one as `clock:`. ``SystemClock`` is the default;
/// `VirtualClock` in `DecorumTesting` moves only when a test moves it.
public protocol DatedClock: Clock where Instant == ContinuousClock.Instant, Duration == Swift.Duration {
    /// The date and time of day, which may jump.
    var date: Date { get }

    /// Whether sleeps end at once, so that the time of the clock is no measure of the time that has passed; by default, it is one.
    ///
    /// A layer that retries then tells no total time in its errors.
    var skipsSleeps: Bool { get }

    /// Waits until the deadline of a request or another instant at which a ``TimeLimitWatch`` fails what has not ended.
    ///
    /// By default, it sleeps. A clock that skips sleeps does not skip this wait, since then no request would be in time.
    ///
    /// - Parameter limit: The instant.
    /// - Throws: `CancellationError`, as soon as the task is cancelled.
    func sleep(untilLimit limit: ContinuousClock.Instant) async throws
}

extension DatedClock {
    /// False.
    public var skipsSleeps: Bool { false }

    /// The instant after a duration, which may be of any length.
    package func instant(after duration: Duration) -> ContinuousClock.Instant { now.advanced(by: duration.bounded) }

    /// Sleeps for a duration, which may be of any length.
    package func sleep(for duration: Duration) async throws {
        try await sleep(until: instant(after: duration), tolerance: nil)
    }

    /// Sleeps until the instant.
    public func sleep(untilLimit limit: ContinuousClock.Instant) async throws {
        try await sleep(until: limit, tolerance: nil)
    }
}

/// The time of the machine.
public struct SystemClock: DatedClock {
    private let clock = ContinuousClock()

    /// Creates a clock with the machine's time.
    public init() {}

    /// The current instant, which only moves forwards and continues while the machine sleeps.
    public var now: ContinuousClock.Instant { clock.now }

    /// The smallest difference that the clock can measure.
    public var minimumResolution: Duration { clock.minimumResolution }

    /// The date and time of day.
    public var date: Date { Date() }

    /// Waits until an instant, or until the task is cancelled.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        // The clock of the system ends the process for an instant that is too far away.
        let now = now
        try await clock.sleep(until: min(max(deadline, now), now + .longest), tolerance: tolerance)
    }
}

/// Starts tasks for layers: work that outlives the call that caused it, behind one value that a test can replace.
///
/// Every modifier that has such work takes one as `spawner:`. ``SystemSpawner`` is the default; `TrackingSpawner` in
/// `DecorumTesting` lets a test wait for the work to end.
public protocol TaskSpawner: Sendable {
    /// Starts work that continues when the caller has ended or was cancelled.
    ///
    /// - Parameter work: The work; it is started at once, on no actor, with the task-local values of the caller.
    /// - Returns: The task; only the layer that started it cancels it, when it no longer needs it.
    @discardableResult func spawn(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never>
}

/// Starts unstructured tasks on the global executor, with the priority that an app chooses.
public struct SystemSpawner: TaskSpawner {
    package let priority: TaskPriority?

    /// Creates a spawner.
    ///
    /// - Parameter priority: The priority of the tasks; nil for the priority of the caller.
    public init(priority: TaskPriority? = nil) {
        self.priority = priority
    }

    /// Starts an unstructured task.
    @discardableResult public func spawn(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(priority: priority) { await work() }
    }
}

/// The source of randomness for layers: random bits that many tasks may draw at the same time.
///
/// Every modifier that needs random numbers takes one as `generator:`. ``SystemGenerator`` is the default; a
/// ``SeededGenerator`` gives the same numbers in each run.
public protocol RandomGenerator: Sendable {
    /// Draws 64 random bits.
    ///
    /// - Returns: A number in which each bit is set with a probability of one half.
    func next() -> UInt64
}

extension RandomGenerator {
    /// Draws a uniform number from 0 (included) to 1 (excluded).
    ///
    /// - Returns: A multiple of 2⁻⁵³.
    public func uniform() -> Double {
        Double(next() >> 11) * 0x1p-53
    }
}

/// The random bits of the system, which are unpredictable.
public struct SystemGenerator: RandomGenerator {
    /// Creates a generator.
    public init() {}

    /// Draws 64 random bits.
    public func next() -> UInt64 {
        UInt64.random(in: .min ... .max)
    }
}

/// Random bits that follow from a seed (SplitMix64); not for secrets.
public final class SeededGenerator: RandomGenerator {
    private let state: Atomic<UInt64>

    /// Creates a generator.
    ///
    /// - Parameter seed: The number that determines the whole sequence.
    public init(seed: UInt64) {
        state = Atomic(seed)
    }

    /// Draws the next 64 bits of the sequence.
    public func next() -> UInt64 {
        var bits = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}

extension RandomGenerator {
    /// Draws a random UUID (RFC 9562, section 5.4), as text in lower case.
    package func uuidText() -> String {
        let high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        // Appending digits is several times as fast as `UUID().uuidString`.
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for index in 0..<32 {
            if index == 8 || index == 12 || index == 16 || index == 20 { text.append(UInt8(ascii: "-")) }
            let half = index < 16 ? high : low
            let digit = UInt8(truncatingIfNeeded: half >> UInt64(60 - index % 16 * 4) & 15)
            text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
        return String(decoding: text, as: UTF8.self)
    }
}
