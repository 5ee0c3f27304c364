import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Bodies that are written to a store of files, and read from it.
@Suite(.timeLimit(.minutes(5))) struct FileResponseStoreBodyTests {
    let folder = StoreFolder()

    @Test func `A body is written as it arrives and read back in parts`() async throws {
        let store = folder.store()
        let key = try SampleResponse.key(1)
        let length = 5 << 20
        let content = SampleResponse.content(1, 0, length)
        let writer = try #require(
            await store.writer(for: SampleResponse.response(1, length: length, body: .empty), key: key))
        var rest = content[...]
        let generator = SeededGenerator(seed: 1)
        while !rest.isEmpty {
            let count = Int(generator.next() % 150_000)
            #expect(await writer.write(Data(rest.prefix(count))))
            rest = rest.dropFirst(count)
            #expect(await store.responses(for: key).isEmpty)
        }
        await writer.finish()
        await writer.finish()

        let found = try #require(await folder.store().responses(for: key).first)
        #expect(found.body.bytes == nil)
        var read = Data()
        for try await chunk in found.body {
            #expect(chunk.count <= 256 << 10)
            read.append(chunk)
        }
        #expect(read == content)
        #expect(folder.files.count == 1)
    }

    @Test(arguments: [10, 100_000, 1 << 20]) func `A writer that is dropped leaves nothing`(length: Int) async throws {
        let store = folder.store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        var writer = await store.writer(for: SampleResponse.response(1, version: 1, body: .empty), key: key)
        #expect(await writer?.write(Data(count: length)) == true)
        writer = nil

        // A removal waits for the changes before it.
        await store.removeResponses(for: try SampleResponse.key(2))
        #expect(folder.files.count == 1)
        #expect(await store.responses(for: key).first?.date == Date(timeIntervalSince1970: 1e9))
    }

    @Test func `A body above the limit is discarded while it is written`() async throws {
        let store = folder.store(byteLimit: 4 << 20)
        #expect(store.bodyLimit == 1 << 20)
        let key = try SampleResponse.key(1)
        let writer = try #require(await store.writer(for: SampleResponse.response(1, body: .empty), key: key))
        #expect(await writer.write(Data(count: 1 << 20)))
        #expect(await writer.write(Data(count: 1)) == false)
        #expect(await writer.write(Data(count: 1)) == false)
        await writer.finish()
        await store.store(SampleResponse.response(1, length: 1 << 20 + 1), for: key)
        await store.removeResponses(for: try SampleResponse.key(2))

        #expect(await store.responses(for: key).isEmpty)
        #expect(folder.files.isEmpty)
    }

    @Test func `Reading stops when its task is cancelled, and continues in another`() async throws {
        let store = folder.store()
        await store.store(SampleResponse.response(1, length: 1 << 20), for: try SampleResponse.key(1))
        let found = try #require(await store.responses(for: SampleResponse.key(1)).first)

        await #expect(throws: CancellationError.self) { try await cancelled { try await found.body.data(upTo: .max) } }
        #expect(await SampleResponse.isRight(found, 1))
    }

    @Test func `A task that is cancelled while it writes loses no finished response`() async throws {
        let store = folder.store()
        for length in [10, 300_000] {
            let key = try SampleResponse.key(length)
            try await cancelled {
                let response = SampleResponse.response(length, length: length, body: .empty)
                let writer = await store.writer(for: response, key: key)
                #expect(await writer?.write(SampleResponse.content(length, 0, length)) == true)
                await writer?.finish()
            }
            let found = try #require(await store.responses(for: key).first)
            #expect(await SampleResponse.isRight(found, length))
        }
    }
}
