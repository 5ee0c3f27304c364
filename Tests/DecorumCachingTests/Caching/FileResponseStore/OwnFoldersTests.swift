import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Directories that a store cannot use, or does not trust.
@Suite(.timeLimit(.minutes(3))) struct OwnFoldersTests {
    let folder = StoreFolder()
    let elsewhere = StoreFolder()
    let fileSystem = ProbingFileSystem()

    private func store() -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: 64 << 20, fileSystem: fileSystem)
    }

    private func link(_ name: String) throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(at: elsewhere.url, withIntermediateDirectories: true)
        let path = folder.url.appending(path: name)
        try? FileManager.default.removeItem(at: path)
        try FileManager.default.createSymbolicLink(at: path, withDestinationURL: elsewhere.url)
    }

    @Test(arguments: ["unfinished", "removed"]) func `A symbolic link in place of an own folder is refused`(
        name: String
    ) async throws {
        try link(name)
        let store = store()
        #expect(store.directoryError?.code == .ENOTDIR)
        let key = try SampleResponse.key(1)
        #expect(await store.writer(for: SampleResponse.response(1, body: .empty), key: key) == nil)
        await store.store(SampleResponse.response(1), for: key)
        #expect(elsewhere.files.isEmpty)

        try FileManager.default.removeItem(at: folder.url.appending(path: name))
        await store.store(SampleResponse.response(1), for: key)
        #expect(store.directoryError == nil)
        #expect(await store.responses(for: key).count == 1)
    }

    @Test func `A symbolic link in place of a folder of files is refused`() async throws {
        let key = try SampleResponse.key(1)
        await store().store(SampleResponse.response(1), for: key)
        let shard = URL(filePath: try #require(folder.files.first)).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: elsewhere.url, withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: shard, to: elsewhere.url.appending(path: "copy"))
        try FileManager.default.removeItem(at: shard)
        let copy = elsewhere.url.appending(path: "copy")
        try FileManager.default.createSymbolicLink(at: shard, withDestinationURL: copy)

        let store = store()
        #expect(await store.responses(for: key).isEmpty)
        await store.store(SampleResponse.response(1), for: key)
        #expect(await store.responses(for: key).isEmpty)
        await store.removeAllResponses()
        #expect(elsewhere.files.count == 1)
    }

    @Test func `The directory itself may be reached through a symbolic link`() async throws {
        try link("link")
        let store = FileResponseStore(directory: folder.url.appending(path: "link/cache"))
        #expect(store.directoryError == nil)
        await store.store(SampleResponse.response(1), for: try SampleResponse.key(1))
        #expect(elsewhere.files.count == 1)
    }

    @Test func `A directory of another user is refused`() async throws {
        fileSystem.setOwner(geteuid() + 1)
        let store = store()
        #expect(store.directoryError?.code == .EACCES)
        let key = try SampleResponse.key(1)
        #expect(await store.writer(for: SampleResponse.response(1, body: .empty), key: key) == nil)
    }

    @Test(arguments: [EACCES, EROFS]) func `A directory that can no longer be written says so`(code: Int32)
        async throws
    {
        let store = store()
        let (key, other) = (try SampleResponse.key(1), try SampleResponse.key(2))
        await store.store(SampleResponse.response(1), for: key)
        #expect(store.directoryError == nil)

        fileSystem.refuse([.create, .checkWritable], code: code)
        await store.store(SampleResponse.response(2), for: other)
        #expect(store.directoryError?.code.rawValue == code)
        #expect(await store.writer(for: SampleResponse.response(2, body: .empty), key: other) == nil)
        #expect(await store.responses(for: key).count == 1)

        fileSystem.refuse([])
        #expect(await store.writer(for: SampleResponse.response(2, body: .empty), key: other) != nil)
        #expect(store.directoryError == nil)
    }

    @Test(arguments: [66, 80]) func `A directory of a former format is emptied`(length: Int) async throws {
        let name = String(String(repeating: "0a", count: 40).prefix(length))
        let former = ["0a/\(name)", "unfinished/\(name)-1", "removals/all", "removals/key-\(name)"]
        for path in former + ["0a/other", "unfinished/other"] {
            let url = folder.url.appending(path: path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(count: 100).write(to: url)
        }
        let spawner = TrackingSpawner()
        let store = FileResponseStore(directory: folder.url, spawner: spawner)
        try await spawner.finished()
        #expect(folder.files.count == 2)
        #expect(!FileManager.default.fileExists(atPath: folder.url.path + "/removals"))
        await store.store(SampleResponse.response(1), for: try SampleResponse.key(1))
        #expect(await store.responses(for: try SampleResponse.key(1)).count == 1)
    }
}
