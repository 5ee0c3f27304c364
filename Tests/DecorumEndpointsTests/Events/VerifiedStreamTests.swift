import Decorum
import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// An event stream on a cassette that compares the server with its recording.
@Suite(.timeLimit(.minutes(3))) struct VerifiedStreamTests {
    private func events(_ mode: CassetteMode, _ file: URL, _ connection: some Connection) async throws -> [String] {
        let clock = ImpatientClock()
        let cassette = try Cassette(at: file.path, mode: mode, clock: clock)
        let stream = CassetteConnection(cassette, recording: connection).events(
            of: try .get("https://api.example.com/news"), clock: clock)
        var texts: [String] = []
        for try await event in stream { texts.append(event.data) }
        try await cassette.finish()
        return texts
    }

    private static func stream() -> Response {
        Response(status: .ok, fields: [.contentType: "text/event-stream"], body: "data: a\n\n")
    }

    @Test func `A stream that the server never ends is stopped on a clock that skips the waits`() async throws {
        let name = "decorum-\(UInt64.random(in: 0 ... .max)).json"
        let file = FileManager.default.temporaryDirectory.appending(path: name)
        defer { try? FileManager.default.removeItem(at: file) }
        let ended = StubConnection(Self.stream(), Response(status: .noContent))
        #expect(try await events(.once, file, ended) == ["a"])
        let endless = StubConnection { _ in Self.stream() }
        let error = await #expect(throws: CassetteError.self) { try await events(.verify, file, endless) }
        #expect(error?.reason.contains("in place of 2;") == true)
        #expect(endless.requests.count == 22)
    }
}
