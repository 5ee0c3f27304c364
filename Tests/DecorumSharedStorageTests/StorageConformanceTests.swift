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
#endif
