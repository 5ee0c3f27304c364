import Decorum
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTesting

/// The notes of a replayed test: without a request, with requests that were not sent, and with a file of another tool.
@Suite struct NoteTests: SharedRecording {
    private let recorder = TestRecorder()
    var folder: TemporaryFolder { recorder.folder }

    private func notesOfFailedTest(_ cassette: Cassette) async -> [String] {
        var notes: [String] = []
        await cassette.reportFailedTest(shown: cassette.failures.map { "\($0)" }) {
            Issue.record($0)
        } noting: {
            notes.append($0)
        }
        return notes
    }

    // MARK: No request

    @Test(
        arguments: [
            (.replay, 2, CassetteRules(), nil, true), (.replay, 1, CassetteRules(), "/a", false),
            (.replay, 1, CassetteRules(), "/new", false), (.append, 1, CassetteRules(), nil, false),
            (.live, 1, CassetteRules(), nil, false), (.replay, 0, CassetteRules(), nil, false),
            (.replay, 1, CassetteRules(unused: .allow), nil, false),
        ] as [(CassetteMode, Int, CassetteRules, String?, Bool)])
    func `A failed test that has sent no request to its cassette is told`(
        mode: CassetteMode, count: Int, rules: CassetteRules, path: String?, isTold: Bool
    ) async throws {
        let interaction =
            #"{"request": {"method": "GET", "url": "https://example.com/a"}, "response": {"status": 200}}"#
        let list = Array(repeating: interaction, count: count).joined(separator: ",\n")
        try folder.write("{\"cassette\": 1, \"interactions\": [\n\(list)]}", to: "feed.json")
        let cassette = try recorder.cassette(mode, rules: rules)
        if let path { _ = try? await CassetteConnection(cassette).send(.get("https://example.com" + path)) }
        let notes = await notesOfFailedTest(cassette)
        #expect(notes.isEmpty != isTold, "\(notes)")
        #expect(!isTold || notes.first?.hasSuffix("feed.json, which has 2 recorded.") == true, "\(notes)")
    }

    @Test func `A failed test is told of the recorded requests that it has not sent`() async throws {
        let paths = ["/a", "/b", "/b", "/c", "/d"]
        let requests = try paths.map { try Request.get("https://example.com\($0)") }
        _ = try await recorder.run(.once, requests) { _ in Response(status: .serviceUnavailable) }
        let cassette = try recorder.cassette(.replay)
        for request in requests.prefix(2) { _ = try await CassetteConnection(cassette).send(request) }
        let notes = await notesOfFailedTest(cassette)
        #expect(notes.count == 1 && notes[0].contains("\n  GET https://example.com/b (line "), "\(notes)")
        #expect(notes.first?.contains("example.com/a") == false, "\(notes)")
        _ = try? await CassetteConnection(cassette).send(.get("https://example.com/new"))
        #expect(await notesOfFailedTest(cassette).isEmpty)
    }

    // MARK: Files of another tool

    private static func archive(_ responses: String...) -> String {
        let entries = responses.map { response in
            #"{"request": {"method": "GET", "url": "https://a.example/"}, "response": {\#(response)}}"#
        }
        return #"{"log": {"creator": {"name": "x"}, "entries": [\#(entries.joined(separator: ", "))]}}"#
    }

    private static let lost = #""status": 200, "content": {"size": 12}"#

    private func cassette(
        _ document: String, mode: CassetteMode = .replay, rules: CassetteRules = CassetteRules()
    ) throws -> Cassette {
        try folder.write(document, to: "feed.json")
        return try recorder.cassette(mode, rules: rules)
    }

    @Test func `The first losses of a file are told, also to a test that has failed`() async throws {
        let note = try #require(
            try cassette(Self.archive(Self.lost, Self.lost, Self.lost, Self.lost, Self.lost)).notesOfPassedTest.first)
        #expect(note.hasPrefix("5 parts of the foreign cassette "), "\(note)")
        let line = "$.log.entries[2].response.content, line 1: The archive has a response without its content."
        #expect(note.contains("\n  \(line)\n  and 2 more\nfix: "), "\(note)")
        let failed = try cassette(Self.archive(Self.lost))
        _ = try await CassetteConnection(failed).send(.get("https://a.example/"))
        let notes = await notesOfFailedTest(failed)
        #expect(notes.count == 1 && notes.first?.hasPrefix("1 part of ") == true, "\(notes)")
    }

    @Test(arguments: [
        (archive(#""status": 200, "content": {"text": "\ud83d!"}"#), 1), (archive(#""status": 1000"#), 1),
        (archive(#""status": 0"#), 1),
        (archive(#""status": 200, "content": {"text": "{}", "encoding": "base64"}"#), 1),
        (archive(#""status": 200, "headers": [{"name": "a b", "value": "c"}]"#), 1),
        (archive(#""status": 304, "content": {"text": "a"}"#), 0),
        (
            archive(
                #""status": 200, "headers": [{"name": "Content-Encoding", "value": "gzip"}], "content": {"text": "a"}"#),
            0
        ),
        (
            #"{"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "/"}, "response": {"status": 200}}]}"#,
            0
        ),
    ])
    func `A guess and a part that is left out are losses, and not what a client gets all the same`(
        document: String, count: Int
    ) throws {
        #expect(try cassette(document).notesOfPassedTest.count == count)
    }

    @Test func `Rules that report no losses accept them, and a test that is not replayed has no note`() throws {
        var rules = CassetteRules()
        rules.reportsLosses = false
        #expect(try cassette(Self.archive(Self.lost), rules: rules).notesOfPassedTest.isEmpty)
        for mode in [CassetteMode.append, .verify, .live] {
            let notes = try cassette(Self.archive(Self.lost), mode: mode).notesOfPassedTest
            #expect(!notes.contains { $0.contains("foreign") }, "\(notes)")
        }
    }

    @Test func `The tests of a suite are told once for each file`() throws {
        for name in ["one.json", "two.json"] { try folder.write(Self.archive(#""status": 0"#), to: name) }
        let shared = SharedCassettes(isPartial: false)
        let counts = try ["one.json", "one.json", "two.json"].map { name in
            try Cassette(
                at: folder.path(name), mode: .replay, rules: CassetteRules(), clock: SystemClock(), suite: shared,
                isNamed: true, test: name
            ).notesOfPassedTest.count
        }
        #expect(counts == [1, 0, 1])
    }

    @Test func `A secret in the path of a value is not shown`() throws {
        let secret = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"
        var rules = CassetteRules()
        rules.formats = [Pages()]
        let note = try #require(try cassette(#"{"pages": {"\#(secret)": [1]}}"#, rules: rules).notesOfPassedTest.first)
        #expect(note.contains("A part of the page was left out") && !note.contains(secret), "\(note)")
        #expect(try cassette(#"{"pages": {"noted": [1]}}"#, rules: rules).notesOfPassedTest.isEmpty)
    }

    /// Pages of a tool of the app's own.
    private struct Pages: ForeignFormat {
        func recognizes(_ document: ForeignDocument) throws -> Bool { try document.root["pages"] != nil }

        func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> String {
            for name in ["noted", "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"] {
                guard let page = try document.root["pages"]?[name] else { continue }
                let request = RecordedRequest(method: "GET", url: "https://a.example/")
                draft.append(Interaction(request: request, response: RecordedResponse(status: 200)), at: page)
                draft.warn(.leftOut, at: page, "A part of the page was left out.", isLoss: name != "noted")
            }
            return "pages"
        }
    }
}

/// A recording answers a request that has lost its credentials, and the test is told.
@Suite struct CredentialNoteTests {
    private let folder = TemporaryFolder()
    private static let paths = ["a", "b", "c", "d", "e"]

    /// A cassette of requests with credentials.
    private func cassette() throws -> Cassette {
        let list = Self.paths.map { path in
            #"{"request": {"method": "GET", "url": "https://example.com/\#(path)", "headers": {"Authorization": "#
                + #""Bearer Redacted1AAAAAAAA"}}, "response": {"status": 200}}"#
        }
        try folder.write("{\"cassette\": 1, \"interactions\": [\n\(list.joined(separator: ",\n"))]}", to: "a.json")
        return try Cassette(at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow))
    }

    @Test(arguments: [
        (["a"], "1 request lacks the `Authorization` ", "\n  GET https://example.com/a (line 2)\nfix: "),
        (paths, "5 requests lack the `Authorization` ", "/c (line 4)\n  and 2 more\nfix: "),
    ])
    func `A replay of requests without their credentials is told, up to a bound`(
        paths: [String], start: String, words: String
    ) async throws {
        let cassette = try cassette()
        for path in paths { _ = try await CassetteConnection(cassette).send(.get("https://example.com/\(path)")) }
        let notes = cassette.notesOfPassedTest
        #expect(notes.count == 1 && notes[0].hasPrefix(start) && notes[0].contains(words), "\(notes)")
    }

    @Test func `Other credentials are not told, and a server that plays a cassette notes lost ones`() async throws {
        let cassette = try cassette()
        let request = try Request.get("https://example.com/a", fields: [.authorization: "Bearer x7Rq2LmZ9sKd4TbV"])
        _ = try await CassetteConnection(cassette).send(request)
        #expect(cassette.notesOfPassedTest == [])
        let origin = try LoopbackOrigin(playing: cassette)
        defer { origin.stop() }
        _ = try await SystemConnection().send(.get("\(origin.url)/b"))
        #expect(cassette.notesOfPassedTest.first?.contains("example.com/b (line 3)") == true)
    }
}
