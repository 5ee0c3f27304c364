import DecorumTesting
import Foundation
import Testing

@testable import Decorum

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

    @Test func `A lock that is released in time is waited for`() throws {
        let system = SystemFileSystem()
        _ = store()
        let held = try hold()
        #expect(throws: SystemError.isLocked) {
            try system.lock(folder.url.appending(path: "removed").path, within: .milliseconds(2))
        }
        system.close(held)
        system.close(try hold())
    }
}
