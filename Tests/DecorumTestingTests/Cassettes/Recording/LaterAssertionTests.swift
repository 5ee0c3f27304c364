import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A test that gets an assertion on content later, which it had not read when it was recorded, finds it whole.
@Suite(.timeLimit(.minutes(3))) struct LaterAssertionTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    static let chunks = [#"{"a":1}"# + "\n", #"{"a":2}"# + "\n", #"{"a":3}"# + "\n"]

    private func cassette(_ mode: CassetteMode) throws -> Cassette {
        try Cassette(at: folder.path("a.json"), mode: mode)
    }

    private func send(_ reading: WholeResponseTests.Reading, over connection: some Connection) async throws {
        let response = try await connection.send(.get("https://example.com/"))
        switch reading {
        case .nothing, .kept: #expect(response.status == .ok)
        case .oneChunk:
            var reader = try await response.body.open()
            #expect(try await reader.next() == Data(Self.chunks[0].utf8))
        case .all: #expect(try await response.body.text(upTo: 100) == Self.chunks.joined())
        }
    }

    @Test(arguments: WholeResponseTests.Reading.allCases, ["text/plain", "application/x-ndjson"])
    func `What a test did not read when it was recorded is replayed whole`(
        reading: WholeResponseTests.Reading, type: String
    ) async throws {
        for mode in [CassetteMode.once, .rewrite] {
            let recording = try cassette(mode)
            let stub = StubConnection { _ in WholeResponseTests.streamed(Self.chunks, type: type) }
            try await send(reading, over: CassetteConnection(recording, recording: stub))
            try await recording.finish()

            let replaying = try cassette(.replay)
            let response = try await CassetteConnection(replaying).send(.get("https://example.com/"))
            #expect(try await response.body.text(upTo: 100) == Self.chunks.joined())
            try await replaying.finish()
            try FileManager.default.removeItem(atPath: folder.path("a.json"))
        }
    }

    @Test func `An answer that a layer has dropped is replayed whole to a test that reads it`() async throws {
        let recording = try cassette(.once)
        let stub = StubConnection(
            WholeResponseTests.streamed(Self.chunks, status: .serviceUnavailable),
            WholeResponseTests.streamed(["fine"]))
        let connection = CassetteConnection(recording, recording: stub)
            .retrying(RetryPolicy(baseDelay: .zero, budget: .unlimited), clock: ImpatientClock())
        #expect(try await connection.send(.get("https://example.com/")).status == .ok)
        try await recording.finish()

        let replaying = try cassette(.replay)
        let plain = CassetteConnection(replaying)
        for text in [Self.chunks.joined(), "fine"] {
            #expect(try await plain.send(.get("https://example.com/")).body.text(upTo: 100) == text)
        }
        try await replaying.finish()
    }
}
