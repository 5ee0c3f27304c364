package import Decorum
package import DecorumTraffic
import Foundation
import Synchronization

/// A storage each of whose calls has a deadline, and which is left alone for a while after some failures in a row.
package final class GuardedStorage<Storage: Sendable>: Sendable {
    package let base: Storage
    let deadline: Duration
    private let policy: CircuitPolicy
    private let generator: any RandomGenerator
    private let watch: TimeLimitWatch
    private let circuit = Mutex(CircuitState())

    /// Guards a storage, by default for one second at first and ten at most after five failures.
    package init(
        _ base: Storage, deadline: Duration = .milliseconds(50),
        policy: CircuitPolicy = CircuitPolicy(firstBreak: .seconds(1), longestBreak: .seconds(10)),
        clock: any DatedClock = SystemClock(), generator: any RandomGenerator = SystemGenerator()
    ) {
        (self.base, self.deadline, self.policy, self.generator) = (base, max(.zero, deadline), policy, generator)
        watch = TimeLimitWatch(clock: clock)
    }

    package func call<Result: Sendable>(
        _ work: @escaping @Sendable (Storage) async throws -> Result
    ) async throws -> Result {
        // Otherwise a storage that answers at once would serve a caller who has left.
        try Task.checkCancellation()
        let (clock, start) = (watch.clock, watch.clock.now)
        guard case .go(let pass, _) = circuit.withLock({ $0.admit(at: start, by: policy, generator) }) else {
            throw SharedStorageError(.leftAlone)
        }
        func note(_ outcome: CircuitState.Outcome) {
            circuit.withLock { $0.note(outcome, of: pass, at: clock.now, by: policy, generator) }
        }
        do {
            let wait = LimitedWait<Result>(until: clock.instant(after: deadline))
            let perform = { @Sendable [base] in
                do { wait.deliver(.success(try await work(base))) } catch { wait.deliver(.failure(error)) }
            }
            // A task of its own, which a caller can leave; where it can, it begins without a change of thread.
            let task =
                if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
                    Task.immediate(operation: perform)
                } else { Task(operation: perform) }
            defer { task.cancel() }
            let result = try await wait.value(watchedBy: watch) { task.cancel() }
            guard let result else { throw SharedStorageError(.tooSlow) }
            note(.success)
            return result
        } catch {
            note(error is CancellationError ? .neither : .failure)
            throw error
        }
    }
}

extension GuardedStorage<any SharedStorage> {
    package func value(of key: SharedKey) async throws -> SharedValue? {
        try await call { try await $0.values(for: [key])[key] }
    }

    func write(
        _ content: Data, for key: SharedKey, expiringAfter lifetime: Duration?, if condition: SharedCondition
    ) async throws -> SharedVersion? {
        // A storage of the app may not check it, and an engine that refuses it has not failed.
        guard content.count <= base.valueLimit else { throw SharedStorageError(.tooLarge) }
        return try await call { try await $0.write(content, for: key, expiringAfter: lifetime, if: condition) }
    }
}
