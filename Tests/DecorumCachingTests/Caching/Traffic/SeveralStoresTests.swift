#if os(macOS) || os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Two processes on one directory: each sees what was removed through the other.
extension ProcessTests {
    @Suite(.timeLimit(.minutes(5))) struct SeveralStoresTests {
        let folder = StoreFolder()
        let clock = VirtualClock()
        let spawner = TrackingSpawner()
        let gate = Gate()

        enum Removal: CaseIterable, Codable {
            case signOut, change, everything
        }

        /// Where a response is kept: one with a secret is kept in memory.
        enum Place: CaseIterable {
            case file, memory
        }

        private static func get() throws -> Request {
            var request = try Request.get("https://example.com/page")
            request.options.principal = Principal("joe")
            return request
        }

        private func origin(_ place: Place) -> StubConnection {
            StubConnection { [gate] _ in
                try await gate.wait()
                var fields: HTTPFields = [.cacheControl: "max-age=3600", .eTag: #""1""#]
                if place == .memory { fields[.setCookie] = "sid=1" }
                return Response(status: .ok, fields: fields, body: "page")
            }
        }

        private static func remove(_ removal: Removal, in store: FileResponseStore) async throws {
            switch removal {
            case .signOut: await store.removeResponses(of: Principal("joe"))
            case .everything: await store.removeAllResponses()
            case .change:
                let stub = StubConnection { _ in Response(status: .noContent) }
                _ = try await stub.caching(in: store).send(Request(.put, "https://example.com/page"))
            }
        }

        private func removeInOtherProcess(_ removal: Removal) async throws {
            let path = folder.url.path
            await #expect(processExitsWith: .success) { [path = path as String, removal = removal as Removal] in
                ProcessTests.begin()
                let store = FileResponseStore(directory: URL(filePath: path))
                try await SeveralStoresTests.remove(removal, in: store)
            }
        }

        @Test(arguments: Place.allCases, Removal.allCases)
        func `A response that another process has removed is not used`(place: Place, removal: Removal) async throws {
            gate.open()
            let stub = origin(place)
            let connection = stub.caching(in: folder.store(), clock: clock, spawner: spawner)
            _ = try await connection.send(Self.get())
            try #require(try await connection.send(Self.get()).metadata.source == .cache)

            try await removeInOtherProcess(removal)

            #expect(try await connection.send(Self.get()).metadata.source != .cache)
            #expect(stub.requests.last?.head.headerFields[.ifNoneMatch] == nil)
        }

        @Test(arguments: Place.allCases, Removal.allCases)
        func `A response under way when another process removes is not kept`(
            place: Place, removal: Removal
        ) async throws {
            let stub = origin(place)
            let connection = stub.caching(in: folder.store(), clock: clock, spawner: spawner)
            let callers = await Callers.start { _ in
                try await connection.send(Self.get()).body.text(upTo: 100)
            }
            try await gate.waitForWaiting(1)

            try await removeInOtherProcess(removal)
            gate.open()

            #expect(try await callers[0].value == "page")
            #expect(try await connection.send(Self.get()).metadata.source != .cache)
            #expect(stub.requests.last?.head.headerFields[.ifNoneMatch] == nil)
        }
    }
}
#endif
