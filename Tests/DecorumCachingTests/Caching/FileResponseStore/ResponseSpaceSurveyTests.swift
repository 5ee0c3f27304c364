import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// The removal of files that a survey has found.
@Suite(.timeLimit(.minutes(5))) struct ResponseSpaceSurveyTests {
    let folder = StoreFolder()
    let fileSystem = ProbingFileSystem()

    private var directory: ResponseDirectory {
        ResponseDirectory(folder.url.resolvingSymlinksInPath().path, fileSystem: fileSystem)
    }

    private func surveyed(_ key: ResponseKey, index: Int = 0) throws -> SurveyedFile {
        let name = ResponseFileName(digest: ResponseKeyDigest(key), index: index)
        let status = try fileSystem.status(of: directory.path(of: name), mayWait: true)
        return SurveyedFile(name: name, time: status.time, length: status.allocatedLength)
    }

    @Test func `A file that was replaced since the survey stays`() async throws {
        let store = folder.store()
        let changes = ResponseFileChanges(directory, tickets: StoreTickets())
        let (key, other) = (try SampleResponse.key(1), try SampleResponse.key(2))
        for key in [key, other] { await store.store(SampleResponse.response(1), for: key) }
        let files = [try surveyed(key), try surveyed(other)]
        await store.store(SampleResponse.response(1, version: 1), for: key)
        let path = directory.path(of: files[0].name)
        try fileSystem.setTime(of: path, to: files[0].time + 1)

        #expect(changes.remove(files, until: .max) == files[1].length)

        #expect(await store.responses(for: key).count == 1)
        #expect(await store.responses(for: other).isEmpty)
    }

    @Test func `Only as many files are removed as are needed, and only removed ones count`() async throws {
        let store = folder.store()
        let changes = ResponseFileChanges(directory, tickets: StoreTickets())
        let keys = try (0..<3).map { try SampleResponse.key($0) }
        for (number, key) in keys.enumerated() { await store.store(SampleResponse.response(number), for: key) }
        let files = try keys.map { try surveyed($0) }
        fileSystem.refuse([.remove])
        #expect(changes.remove(files, until: 1) == 0)
        #expect(folder.files.count == 3)
        fileSystem.refuse([])
        #expect(changes.remove(files, until: 1) == files[0].length)
        #expect(folder.files.count == 2)
        #expect(changes.remove(files[...0], until: 1) == 0)
    }

    @Test func `The other variants are found after the first file of a key is removed, and stay as old`() async throws {
        let store = folder.store()
        let changes = ResponseFileChanges(directory, tickets: StoreTickets())
        let key = try SampleResponse.key(1)
        for accept in ["a", "b", "c"] { await store.store(SampleResponse.response(1, vary: accept), for: key) }
        let last = try surveyed(key, index: 2)
        try fileSystem.setTime(of: directory.path(of: last.name), to: 1_000_000_001)
        #expect(changes.remove([try surveyed(key)], until: 1) > 0)
        #expect(try surveyed(key).time == 1_000_000_001)
        #expect(Set(await store.responses(for: key).compactMap { $0.selectingFields[.accept] }) == ["b", "c"])
    }
}
