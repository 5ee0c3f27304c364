import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// A recording answers a request with another secret too, or without its credentials, and the test is told.
@Suite struct SecretNoteTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

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
            // The recording was edited.
            ([Step("a", nil, json(unknown))], [Step("a", nil, json(refresh))], "has the secret that the answer to "),
            ([Step("a", unknown)], [Step("a", access)], "has the secret that the answer to "),
            // A recorded request has it in another place.
            (
                [Step("a", unknown), Step("b", nil, json("Redacted8AAAAAAAA"))], [Step("a", "Redacted8AAAAAAAA")],
                "has a secret that recorded requests have in another place"
            ),
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

    @Test(arguments: [
        (#"{"access_token": "editedtokens"}"#, "editedtokens", true), (#"{"access_token": "\#(own)"}"#, own, true),
        // A token of this machine, a word that the answer has elsewhere, and short words, which the test may have chosen.
        (#"{"access_token": "editedtokens"}"#, "otherwise-edited", false), (#"{"token_type": "test"}"#, "test", false),
        (#"{"access_token": "editedtokens"}"#, "access_token", false), (#"{"access_token": "test"}"#, "test", false),
        (#"{"access_token": "editedtoken"}"#, "editedtoken", false),
    ])
    func `A token of an answer that was edited there alone is told`(answer: String, token: String, isTold: Bool)
        async throws
    {
        let notes = try await notes([Step("a", Self.access)], sending: [Step("a", token)], answer: answer)
        #expect(notes.isEmpty != isTold, "\(notes)")
        #expect(!isTold || notes.first?.contains("(line 3) has the secret that the answer to ") == true, "\(notes)")
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
