import Decorum
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite struct ResponseStoreTests {
    @Test func `An empty store keeps nothing`() async throws {
        let store = EmptyResponseStore()
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        #expect(store.responses(for: key).isEmpty)
        #expect(store.bodyLimit == 0)
        #expect(await (store as any ResponseStore).writer(for: SampleResponse.response(1), key: key) == nil)
    }

    @Test func `The store is chosen for each operation`() async throws {
        let (first, second) = (MemoryResponseStore(), MemoryResponseStore(byteLimit: 4000))
        let choice = Choice(first)
        let store = SelectedResponseStore { choice.store.withLock { $0 } }
        let key = try SampleResponse.key(1)
        await store.store(SampleResponse.response(1), for: key)
        let writer = await store.writer(for: SampleResponse.response(1, version: 1, body: .empty), key: key)
        #expect(store.bodyLimit == first.bodyLimit)

        choice.store.withLock { $0 = second }
        #expect(await store.responses(for: key).isEmpty)
        #expect(store.bodyLimit == 1000)
        #expect(await writer?.write(Data("x".utf8)) == true)
        await writer?.finish()
        await store.removeAllResponses()
        #expect(second.count == 0)
        #expect(first.responses(for: key).first?.body.bytes == Data("x".utf8))

        choice.store.withLock { $0 = first }
        await store.removeResponses(for: key)
        #expect(first.count == 0)
    }

    @Test func `A writer collects a body in memory up to the limit`() async throws {
        let store = MemoryResponseStore(byteLimit: 40_000)
        let key = try SampleResponse.key(1)
        let response = SampleResponse.response(1, length: 5000, body: .empty)
        let writer = try #require(await store.writer(for: response, key: key))
        let content = SampleResponse.content(1, 0, 5000)
        #expect(await writer.write(content.prefix(100)))
        #expect(store.count == 0)
        #expect(await writer.write(content.dropFirst(100)))
        await writer.finish()
        #expect(await SampleResponse.isRight(try #require(store.responses(for: key).first), 1))

        let large = try #require(await store.writer(for: response, key: try SampleResponse.key(2)))
        #expect(await large.write(Data(count: 10_000)))
        #expect(await large.write(Data(count: 1)) == false)
        #expect(await large.write(Data(count: 1)) == false)
        await large.finish()
        #expect(store.count == 1)
    }

    @Test func `A response removed while it is collected is not stored`() async throws {
        let store = MemoryResponseStore()
        let key = try SampleResponse.key(1, principal: "a")
        let removals: [@Sendable () -> Void] = [
            { store.removeResponses(for: key) }, { store.removeResponses(at: key.uri) },
            { store.removeResponses(of: Principal("a")) }, { store.removeAllResponses() },
        ]
        for remove in removals {
            let old = try #require(await store.writer(for: SampleResponse.response(1, body: .empty), key: key))
            remove()
            let new = try #require(
                await store.writer(for: SampleResponse.response(1, version: 1, body: .empty), key: key))
            await old.finish()
            #expect(store.count == 0)
            await new.finish()
            #expect(store.responses(for: key).map(\.date) == [Date(timeIntervalSince1970: 1e9 + 1)])
            store.removeAllResponses()
        }
    }
}

private final class Choice: Sendable {
    let store: Mutex<any ResponseStore>

    init(_ store: any ResponseStore) {
        self.store = Mutex(store)
    }
}
