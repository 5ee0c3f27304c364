import Decorum
import DecorumTesting
import Foundation
import Testing

/// Losses of files of other tools.
@Suite(.timeLimit(.minutes(3))) struct ImportLossTests {
    @Test(arguments: [#""\ud83d\ude00""#, #""\\ud83d""#, #""\u00e9\ufffd""#, #""😀""#])
    func `Whole pairs and other escapes are not listed`(body: String) throws {
        let document =
            #"{"log": {"entries": [{"request": {"url": "x"}, "response": {"status": 200, "content": {"text": \#(body)}}}]}}"#

        #expect(try ImportedCassette(Data(document.utf8), named: "feed").warnings == [])
    }

    @Test func `A failure without words is listed, and is a failure when it is played`() async throws {
        let document =
            #"{"log": {"entries": [{"request": {"method": "GET", "url": "https://a.example/"}, "response": {"status": 0}}]}}"#
        let imported = try ImportedCassette(Data(document.utf8), named: "feed")

        #expect(imported.interactions[0].failure?.kind == "other")
        #expect(imported.interactions[0].response == nil)
        #expect(imported.warnings.map(\.kind) == [.failure])

        let folder = try TemporaryFolder()
        try folder.write(document, to: "feed.har")
        let cassette = try Cassette(at: folder.path("feed.har"), mode: .replay)
        let error = await #expect(throws: TransportError.self) {
            try await CassetteConnection(cassette).send(.get("https://a.example/"))
        }
        #expect(error?.code == .other && error?.stage == .head)
        try await cassette.finish()
    }
}
