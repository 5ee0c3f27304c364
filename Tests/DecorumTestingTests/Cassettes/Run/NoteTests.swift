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

        func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
            for name in ["noted", "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"] {
                guard let page = try document.root["pages"]?[name] else { continue }
                let request = RecordedRequest(method: "GET", url: "https://a.example/")
                draft.append(Interaction(request: request, response: RecordedResponse(status: 200)), at: page)
                draft.warn(.leftOut, at: page, "A part of the page was left out.", isLoss: name != "noted")
            }
            return ImportedFormat("pages")
        }
    }
}

/// A recording answers a request with another secret too, or without its credentials, and the test is told.
@Suite struct SecretNoteTests {
    private let folder = TemporaryFolder()

    /// A request to a path, with credentials and JSON.
    struct Step {
        let path: String
        var token: String?
        var json: String?

        init(_ path: String, _ token: String? = nil, _ json: String? = nil) {
            self.path = path
            self.token = token
            self.json = json
        }

        var interaction: String {
            let fields = [
                json.map { _ in #""Content-Type": "application/json""# },
                token.map { #""Authorization": "Bearer \#($0)""# },
            ].compactMap(\.self).joined(separator: ", ")
            let content = json.map { #", "json": \#($0)"# } ?? ""
            return
                #"{"request": {"method": "POST", "url": "https://example.com/\#(path)", "headers": {\#(fields)}\#(content)},"#
                + " "
        }
    }

    private static let own = "x7Rq2LmZ9sKd4TbV"
    private static let access = "Redacted1AAAAAAAA"
    private static let refresh = "Redacted2AAAAAAAA"
    private static let unknown = "Redacted7AAAAAAAA"

    private static func json(_ token: String) -> String { #"{"refresh_token":"\#(token)"}"# }

    /// The notes of a test that sends requests to a cassette of a login, which gives tokens, and of some requests.
    private func notes(
        _ recorded: [Step], sending sent: [Step], login: String? = nil,
        answer: String = #"{"access_token": "\#(access)", "refresh_token": "\#(refresh)"}"#
    ) async throws -> [String] {
        let login = Step("login", nil, login)
        let responses =
            [#""response": {"status": 200, "headers": {"Content-Type": "application/json"}, "json": \#(answer)}}"#]
            + recorded.map { _ in #""response": {"status": 200, "text": "a"}}"# }
        let list = zip([login] + recorded, responses).map { $0.interaction + $1 }.joined(separator: ",\n")
        try folder.write("{\"cassette\": 1, \"interactions\": [\n\(list)]}", to: "a.json")
        let cassette = try Cassette(at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow))
        for step in [login] + sent {
            var fields: HTTPFields = step.json.map { _ in [.contentType: "application/json"] } ?? [:]
            fields[.authorization] = step.token.map { "Bearer \($0)" }
            _ = try await CassetteConnection(cassette).send(
                .post("https://example.com/\(step.path)", fields: fields, body: step.json.map { Body($0) } ?? .empty))
        }
        try await cassette.finish()
        let notes = cassette.notesOfPassedTest
        // A secret is never shown.
        for text in ["Redacted", Self.own] { #expect(!notes.contains { $0.contains(text) }, "\(notes)") }
        return notes
    }

    @Test(
        arguments: [
            // The credentials are lost.
            ([Step("a", access)], [Step("a")], "lacks its `Authorization`"),
            // An answer has given the secret, and the request has another one.
            ([Step("a", access)], [Step("a", refresh)], "lacks the secret that the answer to "),
            ([Step("a", nil, json(refresh))], [Step("a", nil, json(own))], "lacks the secret that the answer to "),
            ([Step("a", nil, json(refresh))], [Step("a", nil, json(access))], "lacks the secret that the answer to "),
        ] as [([Step], [Step], String)])
    func `Another secret is told, and the test passes`(recorded: [Step], sent: [Step], words: String) async throws {
        let notes = try await notes(recorded, sending: sent)
        let note = try #require(notes.first)
        #expect(notes.count == 1)
        #expect(note.hasPrefix("1 request differs in a secret from the recording of "), "\(note)")
        #expect(note.contains("\n  POST https://example.com/a (line 3) \(words)"), "\(note)")
    }

    @Test(
        arguments: [
            ([Step("a"), Step("b", access)], [Step("a", access)]), ([Step("a", access)], [Step("a", access)]),
            ([Step("a", nil, json(refresh))], [Step("a", nil, json(refresh))]),
            // No answer gives one of both, so any text may stand for it.
            ([Step("a", nil, json(unknown))], [Step("a", nil, json(own))]), ([Step("a", unknown)], [Step("a", own)]),
            ([Step("a", unknown)], [Step("a", "Redacted8AAAAAAAA")]),
            // A token was refreshed earlier or later.
            ([Step("a", access), Step("b", unknown)], [Step("a", unknown)]),
            (
                [Step("a", nil, json(refresh)), Step("b", nil, json("Redacted3AAAAAAAA"))],
                [Step("a", nil, json("Redacted3AAAAAAAA"))]
            ),
        ] as [([Step], [Step])])
    func `The same secret, a later one, and one of the test itself are not told`(recorded: [Step], sent: [Step])
        async throws
    {
        #expect(try await notes(recorded, sending: sent).isEmpty)
    }

    @Test func `A secret that the client has sent first is its own`() async throws {
        let recorded = [Step("a", nil, Self.json(Self.refresh))]
        #expect(
            try await notes(
                recorded, sending: [Step("a", nil, Self.json(Self.own))], login: Self.json(Self.refresh)
            ).isEmpty)
    }

    @Test func `A list is bounded, and a server that plays a cassette notes the requests of its clients`() async throws
    {
        let steps = ["a", "b", "c", "d", "e"].map { Step($0, Self.access) }
        let note = try #require(try await notes(steps, sending: steps.map { Step($0.path) }).first)
        #expect(
            note.hasPrefix("5 requests differ ") && note.contains(" lacks its `Authorization`\n  and 2 more\nfix: "))
        let cassette = try Cassette(at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow))
        let origin = try LoopbackOrigin(playing: cassette)
        defer { origin.stop() }
        _ = try await SystemConnection().send(.post("\(origin.url)/b"))
        #expect(cassette.notesOfPassedTest.first?.contains("example.com/b (line 4) lacks") == true)
    }
}
