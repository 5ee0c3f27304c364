import DecorumConformance
import DecorumSharedStorage
import DecorumTesting
import Foundation

/// What a storage does wrong.
enum Lie: CaseIterable {
    case versionsFall, versionsRepeat, versionsDiffer, cutContent, sharedKeys, ignoredCondition, lateCondition
    case lostAddition, endlessCounter, endlessLife, earlyEnd, lostRemoval, silentHints

    /// The rules that find it.
    var rules: [StorageCase] {
        switch self {
        case .versionsFall, .versionsRepeat: [.versions, .leases]
        case .versionsDiffer: [.versions]
        case .cutContent: [.contents]
        case .sharedKeys: [.keys]
        case .ignoredCondition: [.conditions, .leases, .leasesUnderFaults]
        case .lateCondition: [.comparison, .leases, .leasesUnderFaults, .comparisonUnderFaults]
        case .lostAddition, .endlessCounter: [.counters]
        case .endlessLife: [.expiry, .leases]
        case .earlyEnd: [.expiry]
        case .lostRemoval: [.conditions, .leases]
        case .silentHints: [.hints]
        }
    }
}

struct LyingStorage: SharedStorage {
    let lie: Lie
    let base: MemorySharedStorage
    private let additions = Monitor(0)

    init(lie: Lie, base: MemorySharedStorage) { (self.lie, self.base) = (lie, base) }

    var valueLimit: Int { base.valueLimit }

    private func shown(_ version: SharedVersion, reading: Bool = false) -> SharedVersion {
        switch lie {
        case .versionsFall: SharedVersion(1_000 - version.number)
        case .versionsRepeat: SharedVersion(version.number / 2 + 1)
        case .versionsDiffer where reading: SharedVersion(version.number + 1)
        default: version
        }
    }

    private func known(_ key: SharedKey) -> SharedKey {
        lie == .sharedKeys ? SharedKey(key.description.lowercased()) ?? key : key
    }

    func values(for keys: [SharedKey]) async throws -> [SharedKey: SharedValue] {
        let values = await base.values(for: keys.map(known))
        return keys.reduce(into: [:]) { found, key in
            guard let value = values[known(key)] else { return }
            let content = lie == .cutContent ? value.content.prefix(1_000) : value.content
            found[key] = SharedValue(content, version: shown(value.version, reading: true))
        }
    }

    func write(
        _ content: Data, for key: SharedKey, expiringAfter lifetime: Duration?, if condition: SharedCondition
    ) async throws -> SharedVersion? {
        var (lifetime, condition) = (lifetime, condition)
        if lie == .endlessLife { lifetime = nil }
        if lie == .earlyEnd { lifetime = lifetime ?? .seconds(2) }
        if lie == .ignoredCondition { condition = .anything }
        if lie == .lateCondition {
            let present = await base.values(for: [key])[key].map { SharedCondition.version($0.version) }
            guard condition == present ?? .nothing else { return nil }
            for _ in 0..<10 { await Task.yield() }
            condition = .anything
        }
        let version = try await base.write(content, for: known(key), expiringAfter: lifetime, if: condition)
        return version.map { shown($0) }
    }

    func remove(_ key: SharedKey, if condition: SharedCondition) async throws -> Bool {
        if lie == .lostRemoval { return true }
        return await base.remove(known(key), if: lie == .ignoredCondition ? .anything : condition)
    }

    func add(_ amount: Int64, to key: SharedKey, expiringAfter lifetime: Duration) async throws -> Int64 {
        let lost = lie == .lostAddition && additions.increment() % 16 == 0 ? amount : 0
        let lifetime = lie == .endlessCounter ? .seconds(3_600) : lifetime
        return await base.add(amount - lost, to: known(key), expiringAfter: lifetime) + lost
    }

    func hints() -> AsyncStream<SharedHint>? {
        guard lie == .silentHints else { return base.hints() }
        return AsyncStream { continuation in
            continuation.yield(.listening)
            continuation.finish()
        }
    }
}
