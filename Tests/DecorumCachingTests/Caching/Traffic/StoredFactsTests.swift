import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Facts about a response that its way through a store does not change, and facts about the store itself.
@Suite(.timeLimit(.minutes(3))) struct StoredFactsTests {
    let clock = VirtualClock()
    let spawner = TrackingSpawner()
    let folder = StoreFolder()

    enum Store: CaseIterable {
        case memory, files
    }

    private func store(_ kind: Store) -> any ResponseStore {
        switch kind {
        case .memory: MemoryResponseStore()
        case .files: folder.store()
        }
    }

    private func cache(_ base: some Connection, in store: any ResponseStore) -> any Connection {
        func caching(in store: some ResponseStore) -> any Connection {
            base.caching(in: store, clock: clock, spawner: spawner)
        }
        return caching(in: store)
    }

    private func get() throws -> Request { try .get("https://example.com/page") }

    @Test(arguments: Store.allCases)
    func `A hit keeps the names of the codings that the transport has decoded`(kind: Store) async throws {
        var decoded = Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: "page")
        decoded.metadata.decodedContentCodings = ["gzip"]
        let stub = StubConnection { [decoded] _ in decoded }
        let connection = cache(stub, in: store(kind))
        _ = try await connection.send(get())
        let hit = try await connection.send(get())
        #expect(hit.metadata.source == .cache)
        #expect(hit.metadata.decodedContentCodings == ["gzip"])
    }

    @Test func `A response that a store cannot take does not say that it is stored`() async throws {
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        let file = folder.url.appending(path: "file")
        try Data().write(to: file)
        let store = FileResponseStore(directory: file.appending(path: "store"))
        #expect(store.directoryError != nil)

        let stub = StubConnection { _ in
            Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: "page")
        }
        let response = try await cache(stub, in: store).send(get())
        #expect(response.metadata.cacheStatus?.isStored != true)
    }
}

/// The age of a response that did not come at the first attempt.
@Suite(.timeLimit(.minutes(3))) struct RetriedFreshnessTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()

    private func get() throws -> Request { try .get("https://example.com/page") }

    @Test func `The wait before a retry does not count as age`() async throws {
        let fresh = Response(status: .ok, fields: [.cacheControl: "max-age=30"], body: "page")
        let stub = StubConnection(
            Response(status: .serviceUnavailable, fields: [.retryAfter: "45"]), fresh, fresh)
        let connection = stub.retrying(clock: clock).caching(in: store, clock: clock, spawner: spawner)

        let callers = await Callers.start { _ in try await connection.send(get()).body.text(upTo: 100) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(65))
        #expect(try await callers[0].value == "page")
        clock.advance(by: .seconds(20))
        let second = try await connection.send(get())

        #expect(second.metadata.source == .cache)
        #expect(second.head.headerFields[.age] == "20")
        #expect(stub.requests.count == 2)
    }
}
