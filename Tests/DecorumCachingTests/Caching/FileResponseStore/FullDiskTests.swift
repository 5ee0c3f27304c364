import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

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
