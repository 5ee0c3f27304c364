package import Decorum
package import DecorumTraffic
package import Foundation
import Synchronization

/// Gives each call a deadline, and refuses calls for a while after some failures in a row.
package final class StorageGuard: Sendable {
    private let deadline: Duration
    private let policy: CircuitPolicy
    private let generator: any RandomGenerator
    private let watch: TimeLimitWatch
    private let circuit = Mutex(CircuitState())

    package init(
        deadline: Duration, policy: CircuitPolicy = .sharedStorage, clock: any DatedClock,
        generator: any RandomGenerator
    ) {
        (self.deadline, self.policy, self.generator) = (max(.zero, deadline), policy, generator)
        watch = TimeLimitWatch(clock: clock)
    }

    package func call<Result: Sendable>(
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let clock = watch.clock
        guard case .go(let pass, _) = circuit.withLock({ $0.admit(at: clock.now, by: policy, generator) }) else {
            throw SharedStorageError(.leftAlone)
        }
        func note(_ outcome: CircuitState.Outcome) {
            circuit.withLock { $0.note(outcome, of: pass, at: clock.now, by: policy, generator) }
        }
        do {
            guard let result = try await watch.value(until: clock.instant(after: deadline), of: work) else {
                throw SharedStorageError(.tooSlow)
            }
            note(.success)
            return result
        } catch {
            note(error is CancellationError ? .neither : .failure)
            throw error
        }
    }
}

extension CircuitPolicy {
    /// Five failures in a row; the storage is left alone for one second at first, and for ten at most.
    package static let sharedStorage = CircuitPolicy(firstBreak: .seconds(1), longestBreak: .seconds(10))
}

/// A storage whose calls are guarded.
package struct GuardedStorage: SharedStorage {
    private let base: any SharedStorage
    private let guarding: StorageGuard

    /// Guards a storage.
    package init(
        _ base: any SharedStorage, deadline: Duration = .milliseconds(50), policy: CircuitPolicy = .sharedStorage,
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator()
    ) {
        self.base = base
        guarding = StorageGuard(deadline: deadline, policy: policy, clock: clock, generator: generator)
    }

    package var valueLimit: Int { base.valueLimit }

    package func values(for keys: [SharedKey]) async throws -> [SharedKey: SharedValue] {
        try await guarding.call { [base] in try await base.values(for: keys) }
    }

    package func write(
        _ content: Data, for key: SharedKey, expiringAfter lifetime: Duration?, if condition: SharedCondition
    ) async throws -> SharedVersion? {
        guard content.count <= valueLimit else { throw SharedStorageError(.tooLarge) }
        return try await guarding.call { [base] in
            try await base.write(content, for: key, expiringAfter: lifetime, if: condition)
        }
    }

    package func remove(_ key: SharedKey, if condition: SharedCondition) async throws -> Bool {
        try await guarding.call { [base] in try await base.remove(key, if: condition) }
    }

    package func add(_ amount: Int64, to key: SharedKey, expiringAfter lifetime: Duration) async throws -> Int64 {
        try await guarding.call { [base] in try await base.add(amount, to: key, expiringAfter: lifetime) }
    }

    package func hints() -> AsyncStream<SharedHint>? { base.hints() }
}
