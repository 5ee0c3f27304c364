import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// `DECORUM_SOAK=1` in the environment selects the long form, which tests every byte.
@Suite(.timeLimit(.minutes(5))) struct FileResponseStoreDamageTests {
    let folder = StoreFolder()

    private func store() -> FileResponseStore {
        FileResponseStore(directory: folder.url)
    }

    private func storeSample(length: Int) async throws -> (file: URL, content: Data) {
        await store().store(SampleResponse.response(1, length: length), for: try SampleResponse.key(1))
        let file = URL(filePath: try #require(folder.files.first))
        return (file, try Data(contentsOf: file))
    }

    private func expectNothingWrong(_ content: Data, in file: URL) async throws {
        try content.write(to: file)
        for response in await store().responses(for: try SampleResponse.key(1)) {
            #expect(await SampleResponse.isRight(response, 1))
        }
    }

    @Test func `A file with any byte changed is not found, and is removed`() async throws {
        let (file, content) = try await storeSample(length: 300)
        let capacity = Int(content[16]) | Int(content[17]) << 8
        let headLength = Int(content[72]) | Int(content[73]) << 8
        // The room for a longer head holds nothing.
        let unused = 64 + 24 + headLength..<64 + capacity
        for index in stride(from: 0, to: content.count, by: Footprint.isSoak ? 1 : 3) where !unused.contains(index) {
            for bit in Footprint.isSoak ? [0, 3, 7] : [index % 8] {
                var damaged = content
                damaged[index] ^= 1 << UInt8(bit)
                try damaged.write(to: file)
                // Listing reads no body.
                #expect(await store().entries().isEmpty == (index < 64 + capacity))
                #expect(await store().responses(for: try SampleResponse.key(1)).isEmpty)
                await Task.yield()
            }
        }
        #expect(folder.files.isEmpty)
        try content.write(to: file)
        #expect(await store().entries().map(\.key) == [try SampleResponse.key(1)])
        #expect(await store().responses(for: try SampleResponse.key(1)).count == 1)
    }

    @Test func `A head that is cut off, or has other lengths, names no other key than its own`() throws {
        let key = try SampleResponse.key(1, principal: "ada", fields: [.authorization: "Bearer abc"])
        let head = try #require(ResponseFile.head(of: SampleResponse.response(1), key: key))
        let keys = (0...head.count).map { ResponseFile.key(in: head.prefix($0)) }
        let start = try #require(keys.firstIndex { $0 != nil })
        #expect(start > 60 && keys[start...].allSatisfy { $0 == key })
        for place in 0..<start {
            var damaged = head
            damaged.replaceSubrange(place..<min(place + 4, head.count), with: [.max, .max, .max, .max])
            #expect(ResponseFile.key(in: damaged[...]) != key, "byte \(place)")
        }
    }

    @Test func `A large file with any byte changed is not found either`() async throws {
        let (file, content) = try await storeSample(length: 400_000)
        let generator = SeededGenerator(seed: 2)
        for _ in 0..<40 {
            var damaged = content
            let index = 2048 + Int(generator.next() % UInt64(content.count - 2048))
            damaged[index] ^= 1 << UInt8(generator.next() % 8)
            try damaged.write(to: file)
            #expect(await store().responses(for: try SampleResponse.key(1)).isEmpty)
        }
    }

    @Test(arguments: [300, 150_000]) func `A file that is too short, too long, or of another format is not found`(
        length: Int
    ) async throws {
        let (file, content) = try await storeSample(length: length)
        let generator = SeededGenerator(seed: 3)
        let rounds = length > 1000 ? 20 : 200
        for round in 0..<(Footprint.isSoak ? rounds : rounds / 5) {
            let count = Int(generator.next() % UInt64(content.count))
            let noise = SampleResponse.content(round, 0, Int(generator.next() % 3000))
            try await expectNothingWrong(content.prefix(count), in: file)
            try await expectNothingWrong(content + noise, in: file)
            try await expectNothingWrong(content.prefix(count) + noise + content.dropFirst(count), in: file)
            try await expectNothingWrong(content.prefix(56) + noise, in: file)
            try await expectNothingWrong(noise, in: file)
            await Task.yield()
        }
        try await expectNothingWrong(Data(), in: file)
    }

    @Test func `The file of another key is not used for this key`() async throws {
        let (file, content) = try await storeSample(length: 300)
        await store().removeAllResponses()
        await store().store(SampleResponse.response(2), for: try SampleResponse.key(2))
        let other = URL(filePath: try #require(folder.files.first))
        try content.write(to: other)
        try Data(contentsOf: other).write(to: file)
        #expect(await store().responses(for: try SampleResponse.key(2)).isEmpty)
    }

    @Test func `A body that is damaged after it was returned ends in an error before the damage`() async throws {
        let length = 1 << 20
        let (file, content) = try await storeSample(length: length)
        let store = store()
        let found = try #require(await store.responses(for: SampleResponse.key(1)).first)
        let handle = try FileHandle(forUpdating: file)
        try handle.seek(toOffset: UInt64(content.count - 200_000))
        try handle.write(contentsOf: Data(count: 100))
        try handle.close()

        var read = Data()
        await #expect(throws: StoredBodyError.self) {
            for try await chunk in found.body { read.append(chunk) }
        }
        #expect(!read.isEmpty)
        #expect(read == SampleResponse.content(1, 0, length).prefix(read.count))
        #expect("\(StoredBodyError())".hasSuffix("."))
        #expect(await store.responses(for: try SampleResponse.key(1)).isEmpty)
        #expect(folder.files.isEmpty)
    }

    @Test func `Links, pipes and folders in place of files are not followed`() async throws {
        let (file, content) = try await storeSample(length: 300)
        let elsewhere = StoreFolder()
        try FileManager.default.createDirectory(at: elsewhere.url, withIntermediateDirectories: false)
        let target = elsewhere.url.appending(path: file.lastPathComponent)
        try FileManager.default.moveItem(at: file, to: target)
        try FileManager.default.createSymbolicLink(at: file, withDestinationURL: target)
        #expect(await store().responses(for: try SampleResponse.key(1)).isEmpty)
        try FileManager.default.removeItem(at: file)

        #expect(unsafe mkfifo(file.path, 0o600) == 0)
        #expect(await store().responses(for: try SampleResponse.key(1)).isEmpty)
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        #expect(await store().responses(for: try SampleResponse.key(1)).isEmpty)
        #expect(try Data(contentsOf: target) == content)
    }

    @Test func `A store without a usable directory keeps nothing and reports the reason`() async throws {
        try Data("x".utf8).write(to: folder.url)
        for url in [folder.url, folder.url.appending(path: "a/b"), URL(string: "https://example.com/")].compactMap(
            \.self)
        {
            let store = FileResponseStore(directory: url)
            #expect(store.directoryError != nil)
            let key = try SampleResponse.key(1)
            await store.store(SampleResponse.response(1), for: key)
            let writer = await store.writer(for: SampleResponse.response(1, body: .empty), key: key)
            _ = await writer?.write(Data(count: 200_000))
            await writer?.finish()
            #expect(await store.responses(for: key).isEmpty)
            await store.removeAllResponses()
        }
        #expect(try Data(contentsOf: folder.url) == Data("x".utf8))
    }

    @Test func `A directory that is removed is created again`() async throws {
        let spawner = TrackingSpawner()
        let store = FileResponseStore(directory: folder.url, spawner: spawner)
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        // The files are listed in the background, which may create folders while the others are removed.
        try await spawner.finished()
        try FileManager.default.removeItem(at: folder.url)
        #expect(await store.responses(for: key).isEmpty)
        await store.store(SampleResponse.response(1), for: key)
        #expect(await store.responses(for: key).count == 1)
    }

    @Test func `Files of other programs are not touched`() async throws {
        let store = store()
        await store.store(SampleResponse.response(1), for: try SampleResponse.key(1))
        let shard = URL(filePath: try #require(folder.files.first)).deletingLastPathComponent()
        let others = ["notes.txt", "unfinished/notes.txt", "\(shard.lastPathComponent)/notes"]
        for name in others { try Data("x".utf8).write(to: folder.url.appending(path: name)) }
        await store.removeAllResponses()
        #expect(folder.files.count == 3)
    }
}
