#if os(macOS) || os(Linux)
import Decorum
import DecorumConformance
import DecorumSharedStorage
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct StorageConformanceTests {
    private static let redis = Task { try await EngineServer.redis() }
    private static let etcd = Task { try await EngineServer.etcd() }

    private let clock = VirtualClock()

    @Test(.enabled(if: EngineServer.hasRedis, "redis-server is not installed"), arguments: StorageCase.all)
    func `Redis keeps each rule`(rule: StorageCase) async throws {
        let client = RedisClient(port: try await Self.redis.value.port)
        try await rule.check(passing: later(by: .milliseconds(50))) { RedisStorage { try await client.reply(to: $0) } }
    }

    @Test(.enabled(if: EngineServer.hasEtcd, "etcd is not installed"), arguments: StorageCase.all)
    func `etcd keeps each rule`(rule: StorageCase) async throws {
        let endpoint = "http://127.0.0.1:\(try await Self.etcd.value.port)"
        try await rule.check(passing: later(by: .seconds(4))) {
            EtcdStorage(at: endpoint, over: SystemConnection())
        }
    }

    /// Lets a real time pass, since an engine has no other clock, and the time by which it ends lifetimes late.
    private func later(by time: Duration) -> @Sendable (Duration) async throws -> Void {
        { try await Task.sleep(for: $0 + time) }
    }

    @Test func `A faulty storage does what its faults say`() async throws {
        let (clock, content) = (clock, Data("text".utf8))
        let (base, key) = (MemorySharedStorage(clock: clock), try #require(SharedKey("a")))
        func faulty(_ faults: FaultyStorage.Fault...) -> FaultyStorage { FaultyStorage(base, clock: clock) { faults } }
        func write(_ fault: FaultyStorage.Fault, if condition: SharedCondition = .anything) async throws
            -> SharedVersion?
        {
            try await faulty(fault).write(content, for: key, expiringAfter: .seconds(10), if: condition)
        }

        for fault in [FaultyStorage.Fault.partition, .full] {
            await #expect(throws: SharedStorageError.self) { try await write(fault) }
        }
        #expect(await base.values(for: [key]).isEmpty)
        await #expect(throws: SharedStorageError(.tooSlow)) { try await write(.lostAnswer, if: .nothing) }
        #expect(try await faulty(.full).values(for: [key])[key]?.content == content)
        #expect(try await faulty(.eviction).values(for: [key]).isEmpty)
        #expect(try await write(.duplicate, if: .nothing) == nil)
        #expect(await base.values(for: [key])[key]?.content == content)
        #expect(try await faulty(.duplicate).add(2, to: key, expiringAfter: .seconds(1)) == 4)

        let call = Task { try await faulty(.delay(.seconds(1)), .eviction).values(for: [key]).count }
        try await clock.waitForSleepers()
        // A call that was sent is done, whoever leaves.
        call.cancel()
        #expect(await base.values(for: [key]).count == 1)
        clock.advance(by: .seconds(1))
        #expect(try await call.value == 0)
        #expect(try await write(.lifetime(factor: 0.5)) != nil)
        clock.advance(by: .seconds(5))
        #expect(await base.values(for: [key]).isEmpty)
    }

    @Test(arguments: Lie.allCases) func `A storage that lies is found`(lie: Lie) async throws {
        let clock = clock
        for rule in lie.rules {
            await #expect(throws: ConformanceFailure.self, "\(rule)") {
                try await rule.check(seed: 1, passing: clock.advance) {
                    LyingStorage(lie: lie, base: .init(clock: clock))
                }
            }
        }
    }

    @Test func `A storage without a limit is examined, too`() async throws {
        try await StorageCase.contents.check { MemorySharedStorage(valueLimit: .max) }
    }

    @Test func `The hints of a listener that is far behind end, and others get theirs`() async throws {
        let (storage, key) = (MemorySharedStorage(), try #require(SharedKey("a")))
        let slow = try #require(storage.hints())
        for _ in 0..<1_000 { _ = try await storage.write(Data(), for: key, expiringAfter: nil, if: .anything) }
        let count = await slow.reduce(into: 0) { count, _ in count += 1 }
        var others = try #require(storage.hints()).makeAsyncIterator()
        _ = await storage.remove(key, if: .anything)
        #expect(await others.next() == .listening)
        #expect(await others.next() == .changed(key) && count == 1_000)
    }
}

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

private struct LyingStorage: SharedStorage {
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
#endif
