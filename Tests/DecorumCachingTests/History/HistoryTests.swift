#if os(macOS) || os(Linux)
import Decorum
import DecorumConformance
import DecorumSharedStorage
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// Random reads, changes, sign-outs, evictions and cancellations by 16 tasks over five principals: every read is one
/// that the model allows.
///
/// `DECORUM_SOAK=1` in the environment selects the long form, of 10 million reads.
@Suite(.timeLimit(.minutes(120))) struct HistoryTests {
    static let tasks = 16
    static let seeds: ClosedRange<UInt64> = 1...(Footprint.isSoak ? 4 : 2)
    /// The numbers of reads for each seed; a hit from a file takes longer.
    static let readsFromMemory = 8000 * (Footprint.isSoak ? 200 : 1)
    static let readsFromFiles = 3000 * (Footprint.isSoak ? 200 : 1)
    /// The reads of each process.
    static let readsOfProcess = 4000

    let folder = StoreFolder()

    /// A file for the state of a history, in a folder that exists.
    private func makeWorld() throws -> HistoryWorld {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        return try HistoryWorld(folder.url.appending(path: "world"))
    }

    /// Two caches on one store, or on two that share a storage, over one server.
    static func traffic(_ world: HistoryWorld, in stores: any ResponseStore..., seed: UInt64) -> HistoryTraffic {
        let origin = HistoryOrigin(world: world, generator: SeededGenerator(seed: seed))
        let connections = (0..<2).map { number in
            let store = stores[number % stores.count]
            return origin.caching(in: store, clock: WorldClock(world)) as any Connection
        }
        return HistoryTraffic(world: world, connections: connections, store: stores[0], seed: seed)
    }

    private func expectRight(_ traffic: HistoryTraffic, reads: Int, readsPerHit: Int = 4) async {
        let tally = await traffic.run(tasks: Self.tasks, reads: (reads + Self.tasks - 1) / Self.tasks)
        #expect(tally.isRight, "\(tally)")
        // Otherwise the history would show little about stored and shared responses.
        #expect(tally.reads >= reads)
        #expect(tally.hits > tally.reads / readsPerHit)
        #expect(tally.confirmed > tally.reads / 50)
        #expect(tally.shared > 0)
    }

    @Test(arguments: seeds)
    func `Every read from a store in memory is right`(seed: UInt64) async throws {
        let store = MemoryResponseStore(byteLimit: 300_000, countLimit: 150)
        let traffic = try Self.traffic(makeWorld(), in: store, seed: seed)
        await expectRight(traffic, reads: Self.readsFromMemory)
    }

    @Test(arguments: seeds)
    func `Every read from a store in files is right`(seed: UInt64) async throws {
        let store = FileResponseStore(directory: folder.url.appending(path: "store"), byteLimit: 800_000)
        let traffic = try Self.traffic(makeWorld(), in: store, seed: seed)
        await expectRight(traffic, reads: Self.readsFromFiles)
    }

    @Test(arguments: seeds)
    func `Every read of two machines is right while their storage evicts, repeats and loses answers`(seed: UInt64)
        async throws
    {
        let chance = SeededGenerator(seed: seed)
        let storage = FaultyStorage(MemorySharedStorage()) {
            let number = Int(chance.next() % 600)
            return number < 3 ? [[.eviction, .duplicate, .lostAnswer][number]] : []
        }
        let stores = (0..<2).map { _ in SharedResponseStore(on: storage, memoryLimit: 100_000, deadline: .seconds(5)) }
        let traffic = try Self.traffic(makeWorld(), in: stores[0], stores[1], seed: seed)
        // On a loaded machine, the faults left 372 hits of 1,504 reads.
        await expectRight(traffic, reads: Self.readsFromFiles / 2, readsPerHit: 5)
    }
}

extension ProcessTests {
    /// The same with processes of 8 tasks each: two on one directory, and four on one Redis.
    @Suite(.timeLimit(.minutes(120))) struct HistoryProcessTests {
        /// The reads of all processes on a Redis.
        static let readsFromRedis = Footprint.isSoak ? 1_000_000 : 4000
        let folder = StoreFolder()

        @Test(arguments: 1...(Footprint.isSoak ? 200 : 1))
        func `Every read of two processes from one directory is right`(seed: Int) async throws {
            try await expectRight(2 * seed, 2 * seed + 1, reads: HistoryTests.readsOfProcess)
        }

        @Test(.enabled(if: EngineServer.hasRedis, "redis-server is not installed"))
        func `Every read of four processes that share a Redis is right`() async throws {
            let server = try await EngineServer.redis()
            try await expectRight(1, 2, 3, 4, reads: Self.readsFromRedis / 4, port: server.port)
            withExtendedLifetime(server) {}
        }

        private func expectRight(_ seeds: Int..., reads: Int, port: Int = 0) async throws {
            try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
            await withTaskGroup { [path = folder.url.path] group in
                for seed in seeds {
                    group.addTask {
                        await #expect(processExitsWith: .success) {
                            [path = path as String, seed = seed as Int, reads = reads as Int, port = port as Int] in
                            ProcessTests.begin(limit: 20)
                            let world = try HistoryWorld(URL(filePath: path).appending(path: "world"))
                            let traffic = HistoryTests.traffic(world, in: Self.store(port, path), seed: UInt64(seed))
                            let tally = await traffic.run(tasks: 8, reads: reads / 8)
                            #expect(tally.isRight, "\(tally)")
                            #expect(tally.hits > tally.reads / 8 && tally.confirmed > 0)
                        }
                    }
                }
            }
        }

        /// A store on the Redis at a port, or in files without one.
        static func store(_ port: Int, _ path: String) -> any ResponseStore {
            guard port > 0 else {
                return FileResponseStore(directory: URL(filePath: path).appending(path: "store"), byteLimit: 800_000)
            }
            let client = RedisClient(port: port)
            // Large bodies are read with a second call.
            return SharedResponseStore(
                on: RedisStorage { try await client.reply(to: $0) }, memoryLimit: 400_000, deadline: .seconds(5))
        }
    }
}
#endif
