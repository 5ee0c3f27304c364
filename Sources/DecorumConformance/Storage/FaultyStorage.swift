public import Decorum
public import DecorumSharedStorage
public import Foundation

/// A storage between a subject and a good storage, which fails as engines and networks do.
///
/// ```swift
/// let storage = FaultyStorage(MemorySharedStorage()) { .sometimes(.lostAnswer, .partition) }
/// ```
///
/// A call that is delayed is done when its caller is cancelled, too, as a request that has left the machine.
public struct FaultyStorage: SharedStorage {
    /// A fault of one call.
    public enum Fault: Sendable, Hashable {
        /// The call is done, and throws.
        case lostAnswer
        /// The call is done twice, and the second answer comes back.
        case duplicate
        /// The call throws, and nothing more is done.
        case partition
        /// A write or an addition throws, and nothing more is done.
        case full
        /// The values that the call concerns vanish before it.
        case eviction
        /// The call takes a time before it is done.
        case delay(Duration)
        /// A lifetime is longer or shorter by a factor, as by a clock that runs at another pace.
        case lifetime(factor: Double)
    }

    private let base: any SharedStorage
    private let clock: any DatedClock
    private let fault: @Sendable () -> [Fault]

    /// Creates a storage over another; `fault` chooses the faults of each call, which come in their order.
    public init(
        _ base: any SharedStorage, clock: any DatedClock = SystemClock(), fault: @escaping @Sendable () -> [Fault]
    ) {
        (self.base, self.clock, self.fault) = (base, clock, fault)
    }

    /// The limit of the base.
    public var valueLimit: Int { base.valueLimit }

    /// Reads values, unless a fault prevents it.
    public func values(for keys: [SharedKey]) async throws -> [SharedKey: SharedValue] {
        try await call(about: keys) { _ in try await base.values(for: keys) }
    }

    /// Writes a value, unless a fault prevents it.
    public func write(
        _ content: Data, for key: SharedKey, expiringAfter lifetime: Duration?, if condition: SharedCondition
    ) async throws -> SharedVersion? {
        try await call(about: [key], isWriting: true) { factor in
            try await base.write(content, for: key, expiringAfter: lifetime.map { $0.bounded * factor }, if: condition)
        }
    }

    /// Removes a value, unless a fault prevents it.
    public func remove(_ key: SharedKey, if condition: SharedCondition) async throws -> Bool {
        try await call(about: [key]) { _ in try await base.remove(key, if: condition) }
    }

    /// Adds to a counter, unless a fault prevents it.
    public func add(_ amount: Int64, to key: SharedKey, expiringAfter lifetime: Duration) async throws -> Int64 {
        try await call(isWriting: true) { try await base.add(amount, to: key, expiringAfter: lifetime.bounded * $0) }
    }

    /// The hints of the base.
    public func hints() -> AsyncStream<SharedHint>? { base.hints() }

    private func call<Result: Sendable>(
        about keys: [SharedKey] = [], isWriting: Bool = false, _ work: (_ factor: Double) async throws -> Result
    ) async throws -> Result {
        let faults = fault()
        var factor = 1.0
        for fault in faults {
            switch fault {
            case .lostAnswer: break
            case .duplicate: _ = try await work(factor)
            case .partition: throw SharedStorageError(.refused("partition"))
            case .full: if isWriting { throw SharedStorageError(.refused("full")) }
            case .eviction: for key in keys { _ = try await base.remove(key, if: .anything) }
            case .delay(let time): try await Task { [clock] in try await clock.sleep(for: time) }.value
            case .lifetime(let other): factor = other
            }
        }
        let result = try await work(factor)
        guard !faults.contains(.lostAnswer) else { throw SharedStorageError(.tooSlow) }
        return result
    }
}

extension [FaultyStorage.Fault] {
    /// One of some faults at every second call, by chance.
    public static func sometimes(
        _ faults: FaultyStorage.Fault..., by generator: any RandomGenerator = SystemGenerator()
    ) -> Self {
        let chance = Int(generator.uniform() * 2 * Double(faults.count))
        return chance < faults.count ? [faults[chance]] : []
    }
}
