import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Removals of responses while the disk refuses to remove files.
@Suite(.timeLimit(.minutes(3))) struct RefusedRemovalTests {
    let folder = StoreFolder()
    let fileSystem = ProbingFileSystem()
    let spawner = TrackingSpawner()

    private func store(byteLimit: Int = 64 << 20) -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: byteLimit, spawner: spawner, fileSystem: fileSystem)
    }

    enum Removal: CaseIterable {
        case key, uri, principal, all

        fileprivate func remove(_ key: ResponseKey, from store: FileResponseStore) async {
            switch self {
            case .key: await store.removeResponses(for: key)
            case .uri: await store.removeResponses(at: key.uri)
            case .principal: await store.removeResponses(of: key.principal)
            case .all: await store.removeAllResponses()
            }
        }
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
