public import Decorum
public import Foundation
import Synchronization

/// A storage in the memory of one process, for tests, previews and apps that have one machine so far.
///
/// Values and counters that have expired are removed at each hundredth write or addition.
public final class MemorySharedStorage: SharedStorage {
    private struct State {
        var values: [SharedKey: (value: SharedValue, end: ContinuousClock.Instant?)] = [:]
        var counters: [SharedKey: (sum: Int64, end: ContinuousClock.Instant)] = [:]
        var lastVersion: UInt64 = 0
        var listeners: [UUID: AsyncStream<SharedHint>.Continuation] = [:]

        func value(of key: SharedKey, at now: ContinuousClock.Instant) -> SharedValue? {
            values[key].flatMap { $0.end.map { $0 > now } ?? true ? $0.value : nil }
        }

        func holds(_ condition: SharedCondition, of key: SharedKey, at now: ContinuousClock.Instant) -> Bool {
            switch condition {
            case .anything: true
            case .nothing: value(of: key, at: now) == nil
            case .version(let version): value(of: key, at: now)?.version == version
            }
        }

        mutating func tell(_ key: SharedKey) {
            for (id, listener) in listeners {
                guard case .dropped = listener.yield(.changed(key)) else { continue }
                listeners[id] = nil
                // The end of a stream takes the lock again.
                Task { listener.finish() }
            }
        }

        /// Makes a new version, and removes what has expired at each hundredth.
        mutating func countChange(at now: ContinuousClock.Instant) {
            lastVersion += 1
            guard lastVersion % 100 == 0 else { return }
            values = values.filter { $0.value.end.map { $0 > now } ?? true }
            counters = counters.filter { $0.value.end > now }
        }
    }

    private let state = Mutex(State())
    private let clock: any DatedClock
    /// The largest content of a value, in bytes.
    public let valueLimit: Int

    /// Creates an empty storage.
    public init(valueLimit: Int = 1 << 20, clock: any DatedClock = SystemClock()) {
        (self.valueLimit, self.clock) = (valueLimit, clock)
    }

    /// Reads the values of some keys together.
    public func values(for keys: [SharedKey]) async -> [SharedKey: SharedValue] {
        let now = clock.now
        return state.withLock { state in
            keys.reduce(into: [:]) { found, key in found[key] = state.value(of: key, at: now) }
        }
    }

    /// Writes a value, if a condition holds.
    public func write(
        _ content: Data, for key: SharedKey, expiringAfter lifetime: Duration?, if condition: SharedCondition
    ) async throws -> SharedVersion? {
        guard content.count <= valueLimit else { throw SharedStorageError(.tooLarge) }
        let (now, end) = (clock.now, lifetime.map { clock.instant(after: $0) })
        return state.withLock { state in
            guard state.holds(condition, of: key, at: now) else { return nil }
            state.countChange(at: now)
            let version = SharedVersion(state.lastVersion)
            state.values[key] = (SharedValue(content, version: version), end)
            state.tell(key)
            return version
        }
    }

    /// Removes a value, if a condition holds.
    public func remove(_ key: SharedKey, if condition: SharedCondition) async -> Bool {
        let now = clock.now
        return state.withLock { state in
            guard state.holds(condition, of: key, at: now) else { return false }
            if state.values.removeValue(forKey: key) != nil { state.tell(key) }
            return true
        }
    }

    /// Adds to a counter.
    public func add(_ amount: Int64, to key: SharedKey, expiringAfter lifetime: Duration) async -> Int64 {
        let (now, end) = (clock.now, clock.instant(after: lifetime))
        return state.withLock { state in
            state.countChange(at: now)
            let present = state.counters[key].flatMap { $0.end > now ? $0 : nil }
            let sum = (present?.sum ?? 0) &+ amount
            state.counters[key] = (sum, present?.end ?? end)
            return sum
        }
    }

    /// Tells which values are changed from now on; the hints end for a listener that is a thousand behind.
    public func hints() -> AsyncStream<SharedHint>? {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SharedHint.self, bufferingPolicy: .bufferingOldest(1_000))
        let id = UUID()
        state.withLock { state in
            state.listeners[id] = continuation
            continuation.yield(.listening)
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.listeners.removeValue(forKey: id) }
        }
        return stream
    }
}
