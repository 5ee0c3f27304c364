import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// An answer whose reader was cancelled while it was recorded.
@Suite(.timeLimit(.minutes(3))) struct CancelledRecordingTests {
    private let folder: TemporaryFolder
    private let clock = VirtualClock()

    private static let file = """
        {"cassette": 1, "interactions": [
        {"request": {"method": "GET", "url": "https://example.com/"},
        "response": {"status": 200, "text": "first"}, "error": {"kind": "cancelled", "after": "body"}}]}
        """

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(Self.file, to: "a.json")
    }

    /// Reads the answer in a mode until nothing else arrives, and then ends the wait.
    private func read(_ mode: CassetteMode, ending end: (Task<Void, any Error>) async -> Void) async throws {
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode, clock: clock)
        let stub = StubConnection { _ in Response(status: .ok, body: "first and second") }
        var request = try Request.get("https://example.com/")
        request.options.idleTimeout = .seconds(5)
        let response = try await CassetteConnection(cassette, recording: stub).send(request)
        let content = Mutex(Data())
        let reading = Task {
            var reader = try await response.body.open()
            while let part = try await reader.next() { content.withLock { $0.append(part) } }
        }
        try await clock.waitForSleepers()
        #expect(content.withLock { $0 } == Data("first".utf8))
        await end(reading)
        try await cassette.finish()

        // A new recording would have the whole answer, and the test is about one that is cancelled.
        #expect(stub.requests.isEmpty)
        #expect(try folder.text("a.json") == Self.file)
    }

    @Test(arguments: [CassetteMode.replay, .append])
    func `Its reader gets what was recorded, and waits until it is cancelled again`(mode: CassetteMode) async throws {
        try await read(mode) { reading in
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
        }
    }

    @Test(arguments: [CassetteMode.replay, .append])
    func `Its reader waits no longer than a limit of the request`(mode: CassetteMode) async throws {
        try await read(mode) { reading in
            clock.advance(by: .seconds(5))
            let error = await #expect(throws: TransportError.self) { try await reading.value }
            #expect(error?.code == .timedOut && error?.stage == .body)
        }
    }
}
