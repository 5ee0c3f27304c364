import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// The bytes that a file store writes when a server confirms a stored response.
@Suite(.timeLimit(.minutes(3))) struct ConfirmedBytesTests {
    static let length = 5 << 20

    @Test func `An answer of 304 writes less than 4 KiB, however large the stored body`() async throws {
        let folder = StoreFolder()
        let fileSystem = ProbingFileSystem()
        let store = FileResponseStore(directory: folder.url, byteLimit: 64 << 20, fileSystem: fileSystem)
        let clock = VirtualClock()
        let spawner = TrackingSpawner()
        let stub = StubConnection { request in
            let fields: HTTPFields = [
                .cacheControl: "max-age=60", .eTag: #""1""#, .date: HTTPDate(clock.date).description,
            ]
            return request.head.headerFields[.ifNoneMatch] == nil
                ? Response(status: .ok, fields: fields, body: Body(BytePattern.bytes(Self.length)))
                : Response(status: .notModified, fields: fields)
        }
        let connection = stub.caching(in: store, clock: clock, spawner: spawner)
        _ = try await connection.send(.get("https://example.com/large")).body.drain(upTo: Self.length)
        try await spawner.finished()
        let first = fileSystem.writtenLength
        #expect(first >= Self.length)

        for _ in 0..<20 {
            clock.advance(by: .seconds(61))
            let response = try await connection.send(.get("https://example.com/large"))
            #expect(response.metadata.source == .revalidated)
            try await spawner.finished()
        }
        #expect((fileSystem.writtenLength - first) / 20 < 4096)

        // The confirmation is kept all the same, also for the next start of the app.
        let restarted = FileResponseStore(directory: folder.url, byteLimit: 64 << 20)
        let hit = try await stub.caching(in: restarted, clock: clock, spawner: spawner)
            .send(.get("https://example.com/large"))
        #expect(hit.metadata.source == .cache)
        #expect(try await hit.body.data(upTo: Self.length) == BytePattern.bytes(Self.length))
        #expect(stub.requests.count == 21)
    }
}

extension ProbingFileSystem {
    /// The number of bytes that were written so far.
    fileprivate var writtenLength: Int {
        changes.reduce(0) { sum, change in
            if case .write(_, _, let data) = change { sum + data.count } else { sum }
        }
    }
}
