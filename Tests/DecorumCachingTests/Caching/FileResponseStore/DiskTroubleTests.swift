import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import Decorum

/// A disk that does not answer: only the threads of the store wait for it.
@Suite(.timeLimit(.minutes(5))) struct DiskWaitingTests {
    let folder = StoreFolder()
    let fileSystem = ProbingFileSystem()

    private func store() -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: 1 << 20, fileSystem: fileSystem)
    }

    @Test func `Unrelated tasks go on while the disk does not answer`() async throws {
        let store = store()
        for number in 0..<20 {
            await store.store(SampleResponse.response(number, length: 100_000), for: try SampleResponse.key(number))
        }
        let open = try #require(await store.responses(for: try SampleResponse.key(19)).first)
        let writer = await store.writer(for: SampleResponse.response(50, body: .empty), key: try SampleResponse.key(50))
        fileSystem.forget()
        fileSystem.gate.close()
        defer { fileSystem.gate.open() }

        let count = 4 * ProcessInfo.processInfo.activeProcessorCount
        let ended = EndedCount()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                let key = try SampleResponse.key(number)
                let operations: [@Sendable () async -> Void] = [
                    { _ = await store.responses(for: key) },
                    { await store.store(SampleResponse.response(number, length: 200_000), for: key) },
                    { await store.removeResponses(for: key) },
                    { await store.removeResponses(of: Principal("\(number)")) },
                    { _ = try? await open.body.data(upTo: 1 << 20) },
                    {
                        await store.refresh(
                            open, with: SampleResponse.confirmed(open, 1), for: key, with: store.ticket(for: key))
                    },
                ]
                for operation in operations {
                    group.addTask {
                        await operation()
                        ended.value.withLock { $0 += 1 }
                    }
                }
            }
            group.addTask {
                _ = await writer?.write(Data(count: 200_000))
                await writer?.finish()
            }
            // Bounded by the gate, which gives up after two minutes.
            while fileSystem.gate.waitingCount == 0, !fileSystem.gate.hasGivenUp { await Task.yield() }
            for _ in 0..<1000 {
                let unrelated = Task { 1 }
                #expect(await unrelated.value == 1)
            }
            #expect(fileSystem.gate.waitingCount > 0)
            #expect(fileSystem.gate.waitingCount <= 3)
            let endedCount = ended.value.withLock { $0 }
            #expect(endedCount == 0)
            fileSystem.gate.open()
            try await group.waitForAll()
        }
        #expect(!fileSystem.gate.hasGivenUp)
    }

    @Test func `A hit whose file is in memory does not wait for a disk that is busy`() async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        _ = await store.responses(for: key)
        #if os(Linux)
        fileSystem.gate.close()
        defer { fileSystem.gate.open() }
        #expect(await store.responses(for: key).count == 1)
        #expect(!fileSystem.gate.hasGivenUp)
        #endif
    }

    @Test func `The number of open files is bounded`() async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1, length: 150_000), for: key)
        var held: [StoredResponse] = []
        for _ in 0..<ResponseFiles.openLimit + 10 { held += await store.responses(for: key) }
        #expect(held.count == ResponseFiles.openLimit)
        #expect(await SampleResponse.isRight(try #require(held.last), 1))
        held = []
        // Files are closed on the thread that reads, before it looks for the next response.
        fileSystem.forget()
        #expect(await store.responses(for: key).count == 1)
    }
}

private final class EndedCount: Sendable {
    let value = Mutex(0)
}

/// A disk that is full before the store has reached its limit.
@Suite(.timeLimit(.minutes(5))) struct FullDiskTests {
    let folder = StoreFolder()
    let fileSystem = ProbingFileSystem()

    private func store() -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: 64 << 20, fileSystem: fileSystem)
    }

    @Test func `New responses take the place of old ones, and confirmations are written`() async throws {
        let store = store()
        fileSystem.limit(to: 1 << 20)
        for number in 0..<120 {
            let key = try SampleResponse.key(number)
            await store.store(SampleResponse.response(number, length: 20_000), for: key)
            let found = try #require(await store.responses(for: key).first, "\(number)")
            await store.refresh(
                found, with: SampleResponse.confirmed(found, 1), for: key, with: store.ticket(for: key))
            let again = await store.responses(for: key).first
            #expect(again?.head.headerFields[SampleResponse.confirmationLabel] == "1")
        }
        #expect(folder.allocatedLength > 512 << 10)
        #expect(await store.responses(for: try SampleResponse.key(0)).isEmpty)
        #expect(store.directoryError == nil)
    }

    @Test func `A long body makes room while it is written`() async throws {
        let store = store()
        fileSystem.limit(to: 1 << 20)
        for number in 0..<40 {
            await store.store(SampleResponse.response(number, length: 20_000), for: try SampleResponse.key(number))
        }
        let key = try SampleResponse.key(100)
        let length = 600_000
        let writer = try #require(
            await store.writer(for: SampleResponse.response(100, length: length, body: .empty), key: key))
        let content = SampleResponse.content(100, 0, length)
        for start in stride(from: 0, to: length, by: 50_000) {
            #expect(await writer.write(content[start..<min(start + 50_000, length)]))
        }
        await writer.finish()
        #expect(await SampleResponse.isRight(try #require(await store.responses(for: key).first), 100))
    }
}

/// Another process holds the lock of the directory and does not go on, as one that the system has suspended.
@Suite(.timeLimit(.minutes(3))) struct HeldLockTests {
    let folder = StoreFolder()
    let fileSystem = ProbingFileSystem()
    let spawner = TrackingSpawner()

    private func store() -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: 64 << 20, spawner: spawner, fileSystem: fileSystem)
    }

    private func keep(_ number: Int, in store: FileResponseStore) async throws -> Bool {
        let key = try SampleResponse.key(number)
        return await store.store(SampleResponse.response(number), for: key, with: store.ticket(for: key))
    }

    /// Holds the lock as another process does, whose descriptors have locks of their own.
    private func hold() throws -> Int32 {
        try SystemFileSystem().lock(folder.url.appending(path: "removed").path, within: .seconds(10))
    }

    @Test func `Only the first change waits, and changes wait again after the lock was free`() async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        fileSystem.skipWaitsForLock()
        let held = try hold()
        for _ in 0..<3 { #expect(try await !keep(1, in: store)) }
        // The first survey of the directory takes the lock too.
        try await spawner.finished()
        let limits = fileSystem.lockLimits
        #expect(limits.first == .seconds(1))
        #expect(limits.count >= 3 && limits.dropFirst().allSatisfy { $0 == .zero })
        #expect(await store.responses(for: key).isEmpty)

        SystemFileSystem().close(held)
        #expect(try await keep(1, in: store))
        try await spawner.finished()
        #expect(try await keep(2, in: store))
        let laterLimits = fileSystem.lockLimits.dropFirst(limits.count)
        #expect(laterLimits.first == .zero)
        #expect(laterLimits.count >= 2 && laterLimits.dropFirst().allSatisfy { $0 == .seconds(1) })
        #expect(await store.responses(for: key).count == 1)
    }

    @Test func `A removal during that time holds, in other stores too`() async throws {
        let (store, other) = (store(), FileResponseStore(directory: folder.url))
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        let ticket = other.ticket(for: key)
        fileSystem.skipWaitsForLock()
        let held = try hold()
        await store.removeResponses(for: key)
        #expect(await store.responses(for: key).isEmpty)
        #expect(await other.responses(for: key).isEmpty)

        SystemFileSystem().close(held)
        await store.removeResponses(for: try SampleResponse.key(2))
        #expect(await !other.store(SampleResponse.response(1), for: key, with: ticket))
    }

    @Test func `A lock is waited for until it is released, also with a copy of its descriptor`() throws {
        let system = SystemFileSystem()
        _ = store()
        let held = try hold()
        let copy = dup(held)
        defer { close(copy) }
        #expect(throws: SystemError.isLocked) {
            try system.lock(folder.url.appending(path: "removed").path, within: .milliseconds(2))
        }
        system.unlock(held)
        system.unlock(try hold())
    }
}

/// Removals of responses while the disk refuses to remove files.
@Suite(.timeLimit(.minutes(3))) struct RefusedRemovalTests {
    let folder = StoreFolder()
    let fileSystem = ProbingFileSystem()
    let spawner = TrackingSpawner()

    private func store(byteLimit: Int = 64 << 20) -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: byteLimit, spawner: spawner, fileSystem: fileSystem)
    }

    @Test(arguments: Removal.allCases, [ProbingFileSystem.Call.list, .remove])
    func `A response whose file cannot be removed is not found, and a later one is`(
        removal: Removal, call: ProbingFileSystem.Call
    ) async throws {
        let store = store()
        let key = try SampleResponse.key(1, principal: "a")
        await store.store(SampleResponse.response(1), for: key)

        fileSystem.refuse([call])
        await removal.remove(key, from: store)
        #expect(folder.files.count == 1)
        fileSystem.refuse([])

        #expect(await store.responses(for: key).isEmpty)
        #expect(await folder.store().responses(for: key).isEmpty)
        await store.store(SampleResponse.response(1, version: 1), for: key)
        #expect(await store.responses(for: key).count == 1)
    }

    @Test(arguments: [ProbingFileSystem.Call.list, .remove])
    func `A refused removal covers a response from before the clock was set back`(
        call: ProbingFileSystem.Call
    ) async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        fileSystem.setClock(by: -60_000_000_000)

        fileSystem.refuse([call])
        await store.removeResponses(for: key)
        fileSystem.refuse([])

        #expect(await store.responses(for: key).isEmpty)
        await store.removeResponses(for: try SampleResponse.key(2))
        #expect(folder.files.isEmpty)
    }

    @Test(arguments: [ProbingFileSystem.Call.list, .remove])
    func `An unfinished file that could not be removed is removed with the next removal`(
        call: ProbingFileSystem.Call
    ) async throws {
        let store = store()
        let key = try SampleResponse.key(1, principal: "a")
        let name = ResponseFileName(digest: ResponseKeyDigest(key), index: 0).text
        let url = folder.url.appending(path: "unfinished/\(name)-1")
        try Data(count: 100).write(to: url)
        fileSystem.refuse([call])
        await store.removeResponses(of: key.principal)
        fileSystem.refuse([])
        #expect(FileManager.default.fileExists(atPath: url.path))
        await store.removeResponses(for: try SampleResponse.key(2))
        #expect(!FileManager.default.fileExists(atPath: url.path))
    }

    @Test func `A file that could not be removed is removed when the files are listed`() async throws {
        let store = store(byteLimit: 1 << 20)
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        let file = try #require(folder.files.first)
        fileSystem.refuse([.list])
        await store.removeResponses(for: key)
        fileSystem.refuse([])
        for number in 2..<5 {
            await store.store(SampleResponse.response(number, length: 50_000), for: try SampleResponse.key(number))
        }
        try await spawner.finished()
        #expect(!folder.files.contains(file))
    }

    @Test func `A file that cannot be removed is hidden by a replacing response with a secret`() async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        fileSystem.refuse([.remove])
        await store.store(SampleResponse.response(1, version: 1, fields: [.setCookie: "a=b"]), for: key)
        let found = await store.responses(for: key)
        #expect(found.map { $0.head.headerFields[.setCookie] } == ["a=b"])

        fileSystem.refuse([])
        await store.removeResponses(for: try SampleResponse.key(2))
        #expect(folder.files.isEmpty)
        #expect(await store.responses(for: key).count == 1)
    }
}
