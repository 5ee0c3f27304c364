import Decorum
import Foundation
import Testing

@testable import DecorumTesting

/// A cassette plays a file of another tool although parts of it are lost, and the test is told.
@Suite(.timeLimit(.minutes(3))) struct ImportLossNoteTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Pages of a tool of the app's own.
    private struct Pages: ForeignFormat {
        func recognizes(_ document: ForeignDocument) throws -> Bool { try document.root["pages"] != nil }

        func read(_ document: ForeignDocument, into draft: inout ImportDraft) throws -> ImportedFormat {
            for page in try document.root["pages"]?.elements ?? [] {
                let request = RecordedRequest(method: "GET", url: "https://a.example/")
                draft.append(Interaction(request: request, response: RecordedResponse(status: 200)), at: page)
                let isLoss: Bool? = page.text == "noted" ? false : nil
                draft.warn(.leftOut, at: page, "A part of the page was left out.", isLoss: isLoss)
            }
            return ImportedFormat("pages")
        }
    }

    private static func archive(
        _ responses: String..., request: String = "", creator: String = "x"
    ) -> String {
        let entries = responses.map { response in
            #"{"request": {"method": "GET", "url": "https://a.example/"\#(request)}, "response": {\#(response)}}"#
        }
        return
            #"{"log": {"creator": {"name": "\#(creator)"}, "entries": [\#(entries.joined(separator: ", "))]}}"#
    }

    private static func vcr(_ response: String) -> String {
        #"{"http_interactions": [{"request": {"method": "get", "uri": "https://a.example/"},"#
            + #" "response": {"status": {"code": 200}, \#(response)}}]}"#
    }

    private static let losses: [(ImportWarning.Kind, String, String)] = [
        (
            .loneSurrogate, archive(#""status": 200, "content": {"text": "\ud83d!"}"#),
            "$.log.entries[0].response.content.text, line 1: A text has half of a surrogate pair, which is no character, and became U+FFFD."
        ),
        (
            .missingBody, archive(#""status": 200, "content": {"size": 12}"#),
            "$.log.entries[0].response.content, line 1: The archive has a response without its content."
        ),
        (
            .leftOut, archive(#""status": 1000"#),
            "$.log.entries[0], line 1: The exchange was left out, as its status is not valid for a response."
        ),
        (
            .contentCoding,
            vcr(#""headers": {"Content-Encoding": ["unheard-of"]}, "body": {"base64_string": "/w=="}"#),
            "$.http_interactions[0], line 1: The content cannot be decoded from unheard-of, and was left as it is."
        ),
        (
            .storageEncoding, archive(#""status": 200, "content": {"text": "{}", "encoding": "base64"}"#),
            "$.log.entries[0].response.content.text, line 1: The body is called base64 and is not; it was read as text."
        ),
        (
            .charset, vcr(#""body": {"encoding": "EUC-JP", "string": "a\u20ac"}"#),
            "$.http_interactions[0].response.body.string, line 1: The body cannot be encoded as EUC-JP, and was read as UTF-8."
        ),
        (
            .damagedBody, vcr(#""body": {"encoding": "UTF-8", "string": "a\ufffd"}"#),
            "$.http_interactions[0].response.body.string, line 1: The body holds marks of characters that its recorder could not read."
        ),
        (
            .invalidField, archive(#""status": 200, "headers": [{"name": "a b", "value": "c"}]"#),
            "$.log.entries[0].response.headers, line 1: A field was left out, as its name is not valid in HTTP."
        ),
        (
            .redirected,
            #"{"name": "x", "interactions": [{"request": {"url": "https://a.example/"},"#
                + #" "response": {"url": "https://b.example/", "status": 200}}]}"#,
            "$.interactions[0], line 1: The answer came from another URL, to which the request was redirected."
        ),
        (
            .failure, archive(#""status": 0"#),
            "$.log.entries[0].response, line 1: The file describes the failure of the exchange in unknown words."
        ),
    ]

    private func cassette(
        _ document: String, mode: CassetteMode = .replay, rules: CassetteRules = CassetteRules()
    ) throws -> Cassette {
        try folder.write(document, to: "feed.json")
        return try Cassette(at: folder.path("feed.json"), mode: mode, rules: rules)
    }

    private func warnings(of document: String) throws -> [ImportWarning] {
        try ImportedCassette(Data(document.utf8), named: "feed").decodingContent().warnings
    }

    @Test(arguments: losses)
    func `Each kind of loss is told with its place`(kind: ImportWarning.Kind, document: String, line: String) throws {
        #expect(try warnings(of: document).map(\.kind) == [kind])

        let notes = try cassette(document).notesOfPassedTest

        let note = try #require(notes.first)
        #expect(notes.count == 1)
        #expect(note.hasPrefix("The cassette "))
        let fault =
            "feed.json is not in the format of Decorum, and 1 part of it had to be guessed, changed or left out, so an answer "
            + "may not be the one that the server gave:\n  \(line)\n"
        let remedy = """
            fix: give the cassette a path without a file, and run the test without `CI`, or with `CASSETTE=once`, to record it \
            there; or write the file again with its tool, or mend it; if the test does not need these parts, \
            `rules.reportLosses = nil` accepts them; `ImportedCassette(contentsOf:).decodingContent().warnings` has the whole \
            list
            """
        #expect(note.hasSuffix(fault + remedy), "\(note)")
    }

    @Test func `A test whose answer lacks a character passes, and is told`() async throws {
        let cassette = try cassette(Self.losses[0].1)
        let response = try await CassetteConnection(cassette).send(.get("https://a.example/"))
        #expect(try await response.body.text(upTo: 100) == "\u{FFFD}!")
        #expect(cassette.notesOfPassedTest.count == 1)
        try await cassette.finish()
    }

    @Test func `The first three are told, and the number of all`() throws {
        let lost = #""status": 200, "content": {"size": 12}"#
        let note = try #require(try cassette(Self.archive(lost, lost, lost, lost, lost)).notesOfPassedTest.first)
        #expect(note.contains(" and 5 parts of it had to be guessed, "), "\(note)")
        #expect(note.contains("$.log.entries[2].response.content, line 1: "), "\(note)")
        #expect(note.contains(" without its content.\n  and 2 more\nfix: "), "\(note)")
        #expect(!note.contains("entries[3]"), "\(note)")
    }

    @Test(arguments: [
        archive(#""status": 304, "content": {"text": "a"}"#),
        archive(
            #""status": 200, "headers": [{"name": "Content-Encoding", "value": "gzip"}], "content": {"text": "a"}"#),
        vcr(#""headers": {"X-Key": ["<API_KEY>"]}, "body": {"encoding": "UTF-8", "string": "a"}"#),
        #"[{"scope": "https://a.example", "path": "/", "response": {"a": 1}}]"#,
        #"{"name": "x", "interactions": [{"request": {"url": "https://a.example/"}, "response": {"body": {"a": 1}}}]}"#,
        archive(#""status": 200"#, request: #", "postData": {"params": [{"name": "a", "value": "b"}]}"#),
        archive(
            #""status": 200, "headers": [{"name": "Set-Cookie", "value": "a=1, b=2"}]"#,
            creator: "WebKit Web Inspector"),
    ])
    func `What a client gets all the same, and what was replaced on purpose, is no loss`(document: String) throws {
        #expect(try warnings(of: document).count == 1)
        #expect(try cassette(document).notesOfPassedTest.isEmpty)
    }

    @Test func `The call that lists all losses reads the formats of the rules`() throws {
        var rules = CassetteRules()
        rules.formats = [Pages()]
        let note = try #require(try cassette(#"{"pages": ["a"]}"#, rules: rules).notesOfPassedTest.first)
        #expect(note.contains("; `ImportedCassette(contentsOf:formats:).decodingContent().warnings` has "), "\(note)")
    }

    @Test func `A format of the app's own says that a warning is no loss`() throws {
        var rules = CassetteRules()
        rules.formats = [Pages()]
        let document = #"{"pages": ["a", "noted"]}"#
        let imported = try ImportedCassette(Data(document.utf8), named: "feed", formats: rules.formats)
        #expect(imported.warnings.map(\.isLoss) == [true, false])

        let note = try #require(try cassette(document, rules: rules).notesOfPassedTest.first)
        #expect(note.contains(" and 1 part of it ") && note.contains("\n  $.pages[0], line 1: "), "\(note)")
        #expect(try cassette(#"{"pages": ["noted"]}"#, rules: rules).notesOfPassedTest.isEmpty)
    }

    @Test func `Rules that do not report losses accept those of the replayed file`() throws {
        var rules = CassetteRules()
        rules.reportLosses = nil
        #expect(try cassette(Self.losses[0].1).notesOfPassedTest.count == 1)
        #expect(try cassette(Self.losses[0].1, rules: rules).notesOfPassedTest.isEmpty)
    }

    @Test func `A file of this library has lost nothing`() throws {
        let file =
            #"{"cassette": 1, "interactions": [{"request": {"method": "GET", "url": "/"}, "response": {"status": 200}}]}"#
        #expect(try cassette(file).notesOfPassedTest.isEmpty)
    }

    @Test(arguments: [CassetteMode.append, .verify, .live]) func `A test that is not replayed has no note`(
        mode: CassetteMode
    ) throws {
        let notes = try cassette(Self.archive(#""status": 200, "content": {"size": 12}"#), mode: mode).notesOfPassedTest
        #expect(!notes.contains { $0.contains("guessed") }, "\(notes)")
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

    @Test func `A test that has failed is told too`() async throws {
        let cassette = try cassette(Self.archive(#""status": 200, "content": {"size": 12}"#))
        _ = try await CassetteConnection(cassette).send(.get("https://a.example/"))
        var notes: [String] = []
        await cassette.reportFailedTest(shown: []) {
            Issue.record($0)
        } noting: {
            notes.append($0)
        }
        #expect(notes.count == 1 && notes.first?.contains("without its content") == true, "\(notes)")
    }

    @Test func `A secret in the path of a value is not shown`() throws {
        let secret = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"
        let document =
            #"[{"scope": "https://a.example", "path": "/", "response": {"\#(secret)": "\ud83d"}}]"#
        #expect(try warnings(of: document).contains { $0.place.contains(secret) })
        let note = try #require(try cassette(document).notesOfPassedTest.first)
        #expect(note.contains("half of a surrogate pair") && !note.contains(secret), "\(note)")
    }
}
