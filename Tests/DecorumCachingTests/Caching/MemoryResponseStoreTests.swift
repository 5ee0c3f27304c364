import Decorum
import Foundation
import HTTPTypes
import Testing

@Suite struct MemoryResponseStoreTests {
    private func key(_ path: String) throws -> ResponseKey {
        try #require(ResponseKey(.get("https://example.com/\(path)")))
    }

    private func response(_ size: Int) -> StoredResponse {
        StoredResponse(
            head: HTTPResponse(status: .ok), body: Body(Data(count: size)),
            request: HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/"),
            date: Date(timeIntervalSince1970: 0))
    }

    @Test func `The count is bounded and the least recently used response is removed first`() throws {
        let store = MemoryResponseStore(countLimit: 2)
        store.store(response(1), for: try key("a"))
        store.store(response(1), for: try key("b"))
        #expect(store.responses(for: try key("a")).count == 1)

        store.store(response(1), for: try key("c"))

        #expect(store.count == 2)
        #expect(store.responses(for: try key("b")).isEmpty)
        #expect(store.responses(for: try key("a")).count == 1)
    }

    @Test func `The bytes are bounded at every moment`() throws {
        let store = MemoryResponseStore(byteLimit: 100_000, countLimit: .max)
        let generator = SeededGenerator(seed: 1)
        for number in 0..<1000 {
            store.store(response(Int(generator.next() % 30_000)), for: try key("\(number % 150)"))
            #expect(store.byteCount <= 100_000)
        }
        #expect(store.count > 3)
        for number in 0..<150 { store.removeResponses(for: try key("\(number)")) }
        #expect(store.byteCount == 0)
        #expect(store.count == 0)
    }

    @Test func `The variants of a key are bounded, and the latest are kept`() throws {
        let store = MemoryResponseStore()
        for number in 0..<40 {
            store.store(SampleResponse.response(1, version: number, vary: "\(number)"), for: try key("a"))
        }
        let selected = store.responses(for: try key("a")).compactMap { $0.selectingFields[.accept] }
        #expect(selected == (24..<40).reversed().map { "\($0)" })
        #expect(store.count == 16)
    }

    @Test func `The size of credentials in a key counts too`() throws {
        let store = MemoryResponseStore(byteLimit: 100_000)
        let token = String(repeating: "c", count: 10_000)
        store.store(
            response(1), for: try #require(ResponseKey(.get("https://example.com/", fields: [.authorization: token]))))
        #expect(store.byteCount > 10_000)
    }

    @Test(arguments: [(0, 10), (10_000, 0), (-5, -5)]) func `A store without space keeps nothing`(
        byteLimit: Int, countLimit: Int
    ) throws {
        let store = MemoryResponseStore(byteLimit: byteLimit, countLimit: countLimit)
        store.store(response(1), for: try key("a"))
        #expect(store.count == 0)
        #expect(store.bodyLimit >= 0)
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
        for removal in Removal.allCases {
            let old = try #require(await store.writer(for: SampleResponse.response(1, body: .empty), key: key))
            await removal.remove(key, from: store)
            let new = try #require(
                await store.writer(for: SampleResponse.response(1, version: 1, body: .empty), key: key))
            await old.finish()
            #expect(store.count == 0)
            await new.finish()
            #expect(store.responses(for: key).map(\.date) == [Date(timeIntervalSince1970: 1e9 + 1)])
            store.removeAllResponses()
        }
    }

    @Test func `Bodies that are being received take at most half of the store`() async throws {
        let store = MemoryResponseStore(byteLimit: 40_000)
        func writer(_ path: String) async throws -> any ResponseWriter {
            try #require(await store.writer(for: response(0), key: try key(path)))
        }
        var first: (any ResponseWriter)? = try await writer("a")
        let (second, third) = (try await writer("b"), try await writer("c"))
        #expect(await first?.write(Data(count: 10_000)) == true)
        #expect(await second.write(Data(count: 8000)))
        #expect(await !third.write(Data(count: 3000)))
        #expect(await !third.write(Data(count: 1)))
        first = nil
        #expect(await second.write(Data(count: 1000)))
        #expect(store.byteCount == 9000)
        #expect(await second.finish())
        #expect(await !second.finish())
        #expect(store.count == 1)
    }
}
