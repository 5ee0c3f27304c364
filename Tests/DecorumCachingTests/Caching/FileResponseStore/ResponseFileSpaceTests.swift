import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

@Suite(.timeLimit(.minutes(5))) struct ResponseFileSpaceTests {
    let folder = StoreFolder()

    @Test func `The bytes are bounded at every moment, for all sizes`() async throws {
        let limit = 1 << 20
        let store = FileResponseStore(directory: folder.url, byteLimit: limit)
        let generator = SeededGenerator(seed: 1)
        let count = Footprint.isSoak ? 300 : 80
        for number in 0..<count {
            let length = Int(generator.next() % (number % 10 == 0 ? 262_145 : 20_000))
            await store.store(SampleResponse.response(number, length: length), for: try SampleResponse.key(number))
            #expect(folder.allocatedLength <= limit + limit / 10)
            await Task.yield()
        }
        #expect(folder.allocatedLength > limit / 2)
        #expect(await store.responses(for: try SampleResponse.key(count - 1)).count == 1)
    }

    @Test func `A full store takes a long body while a survey does not end`() async throws {
        let fileSystem = ProbingFileSystem()
        let spawner = TrackingSpawner()
        let limit = 4 << 20
        let store = FileResponseStore(
            directory: folder.url, byteLimit: limit, spawner: spawner, fileSystem: fileSystem)
        for number in 0..<300 {
            await store.store(SampleResponse.response(number, length: 20_000), for: try SampleResponse.key(number))
        }
        try await spawner.finished()
        fileSystem.listing.close()
        defer { fileSystem.listing.open() }
        let length = 900_000
        let key = try SampleResponse.key(1000)
        let writer = try #require(
            await store.writer(for: SampleResponse.response(1000, length: length, body: .empty), key: key))
        let content = SampleResponse.content(1000, 0, length)
        for start in stride(from: 0, to: length, by: 50_000) {
            #expect(await writer.write(content[start..<min(start + 50_000, length)]))
            #expect(folder.allocatedLength <= limit + limit / 10)
        }
        #expect(await writer.finish())
        try await yield { fileSystem.listing.waitingCount > 0 || fileSystem.listing.hasGivenUp }
        #expect(!fileSystem.listing.hasGivenUp)
        #expect(await SampleResponse.isRight(try #require(await store.responses(for: key).first), 1000))
    }

    @Test func `The files are listed in the background, through the spawner`() async throws {
        let spawner = TrackingSpawner()
        let store = FileResponseStore(directory: folder.url, byteLimit: 10 << 20, spawner: spawner)
        for number in 0..<6 {
            await store.store(SampleResponse.response(number, length: 20_000), for: try SampleResponse.key(number))
        }
        try await spawner.finished()
        #expect(spawner.spawnedCount > 0)
    }

    @Test func `The least recently used responses are removed first`() async throws {
        let spawner = TrackingSpawner()
        let store = FileResponseStore(directory: folder.url, byteLimit: 1 << 20, spawner: spawner)
        for number in 0..<20 {
            await store.store(SampleResponse.response(number, length: 19_000), for: try SampleResponse.key(number))
        }
        // A listing in progress would keep older times.
        try await spawner.finished()
        for path in folder.files {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -7200)], ofItemAtPath: path)
        }
        for number in 0..<10 { #expect(await store.responses(for: try SampleResponse.key(number)).count == 1) }

        // Five of the ten unused ones have to go; surveys that overlap with writes may remove a few more than they have to.
        for number in 100..<134 {
            await store.store(SampleResponse.response(number, length: 19_000), for: try SampleResponse.key(number))
        }

        var kept: [Int] = []
        for number in 0..<20 where await !store.responses(for: try SampleResponse.key(number)).isEmpty {
            kept.append(number)
        }
        #expect(kept.prefix(10) == Array(0..<10)[...])
        #expect(kept.count < 20)
    }

    /// Unfinished files: their bytes, their age in seconds, whether a process holds them, and whether they stay.
    static let unfinished: [(count: Int, age: Double, isHeld: Bool, stays: Bool)] = [
        (100, 0, false, false), (100, 4000, true, true), (0, 0, false, true), (0, 4000, false, false),
    ]

    @Test(arguments: unfinished, [false, true])
    func `Unfinished files of an ended process are removed by a survey and by an opening, without locks after an hour`(
        file: (count: Int, age: Double, isHeld: Bool, stays: Bool), hasLocks: Bool
    ) async throws {
        let fileSystem = ProbingFileSystem()
        func store() -> FileResponseStore {
            FileResponseStore(directory: folder.url, byteLimit: 1 << 20, fileSystem: fileSystem)
        }
        let open = store()
        let url = folder.url.appending(path: "unfinished/\(String(repeating: "0a", count: 33))-1")
        if !hasLocks { fileSystem.refuse([.lock], code: ENOLCK) }
        for opens in [false, true] {
            // A survey that goes on in the background must not see the file before it is as the case has it.
            let new = folder.url.appending(path: "new")
            try Data(count: file.count).write(to: new)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -file.age)], ofItemAtPath: new.path)
            let handle = try FileHandle(forReadingFrom: new)
            if file.isHeld { #expect(flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0) }
            #expect(unsafe rename(new.path, url.path) == 0)

            if opens {
                _ = store()
            } else {
                for number in 0..<5 {
                    let key = try SampleResponse.key(number)
                    await open.store(SampleResponse.response(number, length: 20_000), for: key)
                }
            }

            #expect(FileManager.default.fileExists(atPath: url.path) == (hasLocks ? file.stays : file.age < 3600))
            try handle.close()
        }
    }

    @Test(arguments: [0, -5, 1, 4096]) func `A store without space keeps nothing on the disk`(byteLimit: Int)
        async throws
    {
        let store = FileResponseStore(directory: folder.url, byteLimit: byteLimit)
        #expect(store.bodyLimit >= 0)
        for number in 0..<10 {
            await store.store(SampleResponse.response(number, length: 10), for: try SampleResponse.key(number))
        }
        #expect(folder.allocatedLength <= max(byteLimit, 0))
    }
}
