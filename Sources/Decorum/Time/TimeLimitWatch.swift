import Synchronization

#if os(Linux)
import Foundation
#endif

/// An instant at which something fails unless it has ended by then, and the reason for it.
public struct TimeLimit: Sendable, Hashable {
    /// The reason why time is limited.
    public enum Cause: Sendable, Hashable {
        /// Nothing is sent or received for as long as an idle timeout.
        case idle
        /// A deadline passes.
        case deadline
    }

    /// The instant at which it is over.
    public let instant: ContinuousClock.Instant
    /// The reason.
    public let cause: Cause

    /// Creates a limit from its values.
    public init(at instant: ContinuousClock.Instant, because cause: Cause) {
        self.instant = instant
        self.cause = cause
    }
}

/// Something that fails at an instant unless it has ended by then: a ``TimeLimitWatch`` tells it when that is so.
///
/// The watch may call at any moment, from any thread, and after the end: only the first end counts.
public protocol TimeLimited: AnyObject, Sendable {
    /// The limit that is reached next; nil once it has ended.
    ///
    /// It may move to a later instant at any time, without notice to the watch. It must not move to an earlier one.
    var timeLimit: TimeLimit? { get }

    /// Fails, since the instant of a limit has come, unless ``timeLimit`` is a later one by now.
    ///
    /// - Parameter limit: The limit, as ``timeLimit`` was a moment ago.
    func timeOut(at limit: TimeLimit)

    /// Ends the value before its limit: a task that waits for it gets `CancellationError`.
    func cancel()
}

extension TimeLimited {
    /// Whether a limit whose instant has come is still the limit that counts; false where the value has ended or moved on.
    package func isStill(at limit: TimeLimit) -> Bool {
        timeLimit.map { $0.instant <= limit.instant } ?? false
    }
}

/// Fails everything that it watches at its time limit: the exchanges of a transport, or the callers of a layer that wait.
///
/// Add each ``TimeLimited`` value when it begins, and remove it when it ends; in between, the watch asks for its limit. One
/// task sleeps for all of them, since a task for each would leave a timer behind for each request that was answered. The
/// task ends when the watch is dropped.
public final class TimeLimitWatch: Sendable {
    private struct State: ~Copyable {
        /// The values with their numbers in the order of their arrival.
        var watched: [ObjectIdentifier: (number: Int, limited: any TimeLimited)] = [:]
        /// Their limits, which may have moved to later instants, and limits of values that were removed.
        var limits = EventQueue<ContinuousClock.Instant, ObjectIdentifier>()
        var lastNumber = 0
        var wakingUp: ContinuousClock.Instant?
        var sleeper: Task<Void, Never>?

        mutating func watch(_ limited: any TimeLimited, until limit: ContinuousClock.Instant? = nil) {
            lastNumber += 1
            watched[ObjectIdentifier(limited)] = (lastNumber, limited)
            if let limit { limits.insert((limit, lastNumber, ObjectIdentifier(limited))) }
            // Most values are removed long before their limits.
            guard limits.count > 2 * watched.count + 16 else { return }
            limits.keep { [watched] in watched[$0.content]?.number == $0.number }
        }
    }

    /// The clock that the watch goes by.
    public let clock: any DatedClock
    private let state = Locked(State())

    /// Creates a watch over nothing.
    ///
    /// - Parameter clock: The clock that the watch goes by.
    public init(clock: any DatedClock) {
        self.clock = clock
    }

    deinit {
        state.withLock { $0.sleeper?.cancel() }
    }

    /// Watches something from now on; it is left out if it has ended already.
    ///
    /// - Parameter limited: The value to watch, which is retained until it is removed.
    public func add(_ limited: any TimeLimited) {
        state.withLock { state in
            // The limit is read under the lock, so that a value that ends meanwhile is removed after it was added.
            guard let limit = limited.timeLimit?.instant else { return }
            state.watch(limited, until: limit)
            guard state.wakingUp.map({ limit < $0 }) ?? true else { return }
            state.wakingUp = limit
            state.sleeper?.cancel()
            state.sleeper = sleep(until: limit)
        }
    }

    /// Watches something that may have no limit, until it is removed.
    func hold(_ limited: any TimeLimited) {
        state.withLock { $0.watch(limited) }
    }

    /// Stops watching something, which has ended.
    ///
    /// - Parameter limited: The value; one that was not added has no effect.
    public func remove(_ limited: any TimeLimited) {
        _ = state.withLock { $0.watched.removeValue(forKey: ObjectIdentifier(limited)) }
    }

    /// Cancels everything that is watched, and watches what is added later.
    public func cancelAll() {
        let watched = state.withLock { $0.watched.values.sorted { $0.number < $1.number } }
        for (_, limited) in watched { limited.cancel() }
    }

    /// The number of values that are watched.
    var count: Int { state.withLock { $0.watched.count } }

    private func sleep(until instant: ContinuousClock.Instant) -> Task<Void, Never> {
        Task.detached { [weak self, clock] in
            var wakingUp: ContinuousClock.Instant? = instant
            while let instant = wakingUp {
                try? await clock.sleep(untilLimit: instant)
                guard !Task.isCancelled else { return }
                wakingUp = self?.failOverdue()
            }
        }
    }

    /// Fails what is overdue, and returns the next instant at which something else may be.
    private func failOverdue() -> ContinuousClock.Instant? {
        let now = clock.now
        let (overdue, next) = state.withLock { state in
            var overdue: [(any TimeLimited, TimeLimit)] = []
            while let (instant, number, id) = state.limits.first {
                let limited = state.watched[id].flatMap { $0.number == number ? $0.limited : nil }
                guard instant <= now || limited == nil else { break }
                state.limits.popFirst()
                guard let limited, let limit = limited.timeLimit else { continue }
                if limit.instant > instant {
                    state.limits.insert((limit.instant, number, id))
                } else {
                    overdue.append((limited, limit))
                }
            }
            let next = state.limits.first?.instant
            state.wakingUp = next
            if next == nil { state.sleeper = nil }
            return (overdue, next)
        }
        for (limited, limit) in overdue {
            limited.timeOut(at: limit)
            // It has moved on meanwhile, as an exchange does whose head has just arrived.
            if let later = limited.timeLimit, later.instant > limit.instant { add(limited) }
        }
        return next
    }
}

/// A wait that ends with a delivery, at an instant, or by cancellation.
///
/// `@unchecked Sendable`, since all that changes is behind the lock.
package class TimedWait: TimeLimited, @unchecked Sendable {
    private typealias Waiter = CheckedContinuation<Bool, any Error>

    private enum State {
        case empty
        case waiting(Waiter)
        case delivered
        case ended(isCancelled: Bool)
    }

    private let instant: ContinuousClock.Instant?
    private let state = Locked(State.empty)

    /// Creates a wait that ends at an instant; nil for one that only a delivery or cancellation ends.
    package init(until instant: ContinuousClock.Instant?) {
        self.instant = instant
    }

    /// Delivers what `store` keeps under the lock; returns false if the caller no longer waits.
    @inline(__always) fileprivate final func deliver(_ store: () -> Void) -> Bool {
        let (waiter, isWanted) = state.withLock { state -> (Waiter?, Bool) in
            switch state {
            case .empty:
                store()
                state = .delivered
                return (nil, true)
            case .waiting(let waiter):
                store()
                state = .ended(isCancelled: false)
                return (waiter, true)
            case .delivered, .ended:
                return (nil, false)
            }
        }
        waiter?.resume(returning: true)
        return isWanted
    }

    /// Waits for the delivery; returns whether it came before the time was over, and throws `CancellationError`.
    final func wait(
        watchedBy watch: TimeLimitWatch, orCancel cancel: @escaping @Sendable () -> Void
    ) async throws -> Bool {
        watch.add(self)
        defer { watch.remove(self) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { begin($0) }
        } onCancel: {
            end(isCancelled: true)
            cancel()
        }
    }

    package final var timeLimit: TimeLimit? {
        state.withLock { state in
            switch state {
            case .empty, .waiting: instant.map { TimeLimit(at: $0, because: .deadline) }
            case .delivered, .ended: nil
            }
        }
    }

    package final func timeOut(at limit: TimeLimit) { end(isCancelled: false) }

    package final func cancel() { end(isCancelled: true) }

    private func begin(_ waiter: Waiter) {
        let isDelivered = state.withLock { state -> Result<Bool, any Error>? in
            switch state {
            case .delivered:
                state = .ended(isCancelled: false)
                return .success(true)
            case .ended(let isCancelled):
                return isCancelled ? .failure(CancellationError()) : .success(false)
            case .empty, .waiting:
                state = .waiting(waiter)
                return nil
            }
        }
        if let isDelivered { waiter.resume(with: isDelivered) }
    }

    private func end(isCancelled: Bool) {
        let waiter = state.withLock { state -> Waiter? in
            switch state {
            case .waiting(let waiter):
                state = .ended(isCancelled: isCancelled)
                return waiter
            case .empty:
                state = .ended(isCancelled: isCancelled)
                return nil
            case .delivered, .ended:
                // A delivery that is already there is always taken.
                return nil
            }
        }
        waiter?.resume(with: isCancelled ? .failure(CancellationError()) : .success(false))
    }
}

/// A wait for a value that ends at an instant, while the work for the value may go on.
///
/// `@unchecked Sendable`, since the outcome is set once, under the lock, before the wait for it ends.
package final class LimitedWait<Value: Sendable>: TimedWait, @unchecked Sendable {
    private var outcome: Result<Value, any Error>?

    /// Delivers the outcome; returns it if the caller no longer waits, and otherwise nil.
    @discardableResult package func deliver(_ outcome: Result<Value, any Error>) -> Result<Value, any Error>? {
        deliver { self.outcome = outcome } ? nil : outcome
    }

    /// Performs work, and delivers its outcome; returns it if the caller no longer waits, and otherwise nil.
    @discardableResult func deliver(
        outcomeOf work: @Sendable () async throws -> Value
    ) async -> Result<Value, any Error>? {
        do {
            return deliver(.success(try await work()))
        } catch {
            return deliver(.failure(error))
        }
    }

    /// Waits for the outcome; returns nil if the time was over first, and throws the delivered error or `CancellationError`.
    package func value(
        watchedBy watch: TimeLimitWatch, orCancel cancel: @escaping @Sendable () -> Void
    ) async throws -> Value? {
        try await wait(watchedBy: watch, orCancel: cancel) ? take() : nil
    }

    /// Takes the outcome after the wait for it.
    fileprivate func take() throws -> Value? { try outcome.take()?.get() }
}

extension TimeLimitWatch {
    /// Waits for an operation, and cancels it at an instant.
    ///
    /// An operation with a limit runs in a separate task, which may end later than this call.
    ///
    /// - Parameters:
    ///   - instant: The instant at which the wait ends; nil to wait without a limit.
    ///   - operation: The operation.
    /// - Returns: The value; nil if the instant came first.
    /// - Throws: The error of the operation, or `CancellationError`.
    public func value<Value: Sendable>(
        until instant: ContinuousClock.Instant?, of operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        guard let instant else { return try await operation() }
        return try await leavableValue(until: instant, of: operation)
    }

    /// Waits for an operation in a separate task, which a cancelled caller and ``cancelAll()`` leave at once.
    ///
    /// - Parameters:
    ///   - instant: The instant at which the wait ends; nil to wait without a limit.
    ///   - operation: The operation, which is cancelled when the wait ends, and may end later.
    /// - Returns: The value; nil if the instant came first.
    /// - Throws: The error of the operation, or `CancellationError`.
    public func leavableValue<Value: Sendable>(
        until instant: ContinuousClock.Instant?, of operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        let wait = LimitedWait<Value>(until: instant)
        return try await isDelivered(to: wait) { await wait.deliver(outcomeOf: operation) } ? wait.take() : nil
    }

    /// Performs work in a separate task, and waits until it has delivered its outcome, or for no longer.
    @inline(never) private func isDelivered(to wait: TimedWait, by work: @escaping @Sendable () async -> Void)
        async throws -> Bool
    {
        hold(wait)
        let work = Task { await work() }
        defer { work.cancel() }
        return try await wait.wait(watchedBy: self) { work.cancel() }
    }
}

#if os(Linux)
/// A value behind a lock of the system's thread library, which ThreadSanitizer knows; it reports
/// `Synchronization.Mutex` as a race.
///
/// `@unchecked Sendable`, since the value is reached through ``withLock(_:)`` alone, by one thread at a time.
@safe final class Locked<Value: ~Copyable>: @unchecked Sendable {
    private var value: Value
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init(_ value: consuming Value) {
        self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    @inline(__always) func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
#else
/// A value behind a lock.
typealias Locked<Value: ~Copyable> = Mutex<Value>
#endif
