import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Responses that the server has confirmed: their heads alone are written.
@Suite(.timeLimit(.minutes(5))) struct HeadRefreshTests {
    let folder = StoreFolder()
    let fileSystem = ProbingFileSystem()
    let spawner = TrackingSpawner()

    private func store() -> FileResponseStore {
        FileResponseStore(directory: folder.url, byteLimit: 256 << 20, spawner: spawner, fileSystem: fileSystem)
    }

    @Test(arguments: [100, 20 << 20]) func `A confirmation writes less than 4 KiB, and is there after a restart`(
        length: Int
    ) async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1, length: length), for: key)
        let before = fileSystem.writtenCount
        for count in 1...20 {
            let found = try #require(await store.responses(for: key).first)
            let confirmed = SampleResponse.confirmed(found, count)
            await store.refresh(found, with: confirmed, for: key, with: store.ticket(for: key))
        }
        #expect(fileSystem.writtenCount - before < 20 * 4096)
        let found = try #require(await folder.store().responses(for: key).first)
        #expect(found.head.headerFields[SampleResponse.confirmationLabel] == "20")
        #expect(await SampleResponse.isRight(found, 1))
        #expect(folder.files.count == 1)
    }

    @Test func `A head that does not fit, or another Vary, has the response written anew`() async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1, length: 300_000), for: key)
        for fields in [[.server: String(repeating: "a", count: 3000)], [.vary: "Accept"]] as [HTTPFields] {
            let found = try #require(await store.responses(for: key).first)
            let confirmed = SampleResponse.confirmed(found, 1, fields: fields)
            await store.refresh(found, with: confirmed, for: key, with: store.ticket(for: key))
            try await spawner.finished()
            let again = await store.responses(for: key).first { response in
                fields.allSatisfy { response.head.headerFields[$0.name] == $0.value }
            }
            #expect(await SampleResponse.isRight(try #require(again), 1))
        }
    }

    @Test func `A confirmation of a response that was replaced or removed changes nothing`() async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        let found = try #require(await store.responses(for: key).first)
        await store.store(SampleResponse.response(1, version: 1), for: key)
        let confirmed = SampleResponse.confirmed(found, 1)
        await store.refresh(found, with: confirmed, for: key, with: store.ticket(for: key))
        let replacing = try #require(await store.responses(for: key).first)
        #expect(replacing.head.headerFields[SampleResponse.label] == "1-1-1000")
        #expect(!replacing.head.headerFields.contains(SampleResponse.confirmationLabel))

        await store.removeResponses(for: key)
        let late = SampleResponse.confirmed(replacing, 1)
        await store.refresh(replacing, with: late, for: key, with: store.ticket(for: key))
        #expect(await store.responses(for: key).isEmpty)
    }

    @Test func `A confirmation of an earlier request does not replace that of a later one`() async throws {
        let store = store()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        let found = try #require(await store.responses(for: key).first)
        let (earlier, later) = (store.ticket(for: key), store.ticket(for: key))
        await store.refresh(found, with: SampleResponse.confirmed(found, 2), for: key, with: later)
        await store.refresh(found, with: SampleResponse.confirmed(found, 1), for: key, with: earlier)
        let again = await store.responses(for: key).map { $0.head.headerFields[SampleResponse.confirmationLabel] }
        #expect(again == ["2"])
    }
}
