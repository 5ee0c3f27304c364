import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// A replayed request whose secret is not the one that it was recorded with is told, where an answer has given one of them.
@Suite struct GivenSecretTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let given = #"{"access_token": "Redacted1AAAAAAAA", "refresh_token": "Redacted2AAAAAAAA"}"#

    private static func interaction(_ path: String, _ headers: String, _ content: String, _ answer: String) -> String {
        #"{"request": {"method": "POST", "url": "https://example.com\#(path)", "headers": {\#(headers)},"#
            + #" "json": \#(content)}, "response": \#(answer)}"#
    }

    /// Plays a login that gives tokens, and a request for new ones behind it, and returns the notes.
    private func notes(
        recorded: (content: String, token: String?), sending sent: (content: String, token: String?),
        login: String = #"{"user": "ada"}"#, others: [String] = []
    ) async throws -> [String] {
        let header = recorded.token.map { #", "Authorization": "Bearer \#($0)""# } ?? ""
        let empty = #"{"status": 200, "text": "a"}"#
        let type = #""Content-Type": "application/json""#
        var interactions = [
            Self.interaction("/login", type, login, #"{"status": 200, "headers": {\#(type)}, "json": \#(Self.given)}"#),
            Self.interaction("/token", type + header, recorded.content, empty),
        ]
        for other in others { interactions.append(Self.interaction("/other", type, other, empty)) }
        try folder.write(
            "{\"cassette\": 1, \"interactions\": [\n\(interactions.joined(separator: ",\n"))]}", to: "a.json")
        let cassette = try Cassette(at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow))
        let connection = CassetteConnection(cassette)
        var fields: HTTPFields = [.contentType: "application/json"]
        _ = try await connection.send(.post("https://example.com/login", fields: fields, body: Body(login)))
        fields[.authorization] = sent.token.map { "Bearer \($0)" }
        _ = try await connection.send(.post("https://example.com/token", fields: fields, body: Body(sent.content)))
        let notes = cassette.notesOfPassedTest
        // A secret is never shown.
        for text in ["Redacted", "x7Rq2LmZ9sKd4TbV"] { #expect(!notes.contains { $0.contains(text) }, "\(notes)") }
        return notes
    }

    private static func refresh(_ token: String) -> String { #"{"refresh_token":"\#(token)"}"# }

    @Test(arguments: ["x7Rq2LmZ9sKd4TbV", "Redacted1AAAAAAAA"])
    func `Content without the secret that an answer has given is told`(token: String) async throws {
        let notes = try await notes(
            recorded: (Self.refresh("Redacted2AAAAAAAA"), nil), sending: (Self.refresh(token), nil))
        let note = try #require(notes.first)
        #expect(notes.count == 1)
        #expect(note.hasPrefix("1 request differs from the recording of "), "\(note)")
        #expect(
            note.contains(
                "\n  POST https://example.com/token (line 3) lacks the `refresh_token` that the recorded answer to POST "
                    + "https://example.com/login (line 2) gives, and has another one\nfix: send the secret that the answer "
                    + "gives; if the file was edited, restore it; else "), "\(note)")
    }

    @Test func `A given secret where the recorded one is unknown is told`() async throws {
        let content = try await notes(
            recorded: (Self.refresh("Redacted7AAAAAAAA"), nil), sending: (Self.refresh("Redacted2AAAAAAAA"), nil))
        let words =
            "that the recorded answer to POST https://example.com/login (line 2) gives, and was recorded with one "
            + "that no recorded answer gives\nfix: if the file was edited, restore it; else "
        #expect(content.count == 1 && content.first?.contains("(line 3) has the `refresh_token` \(words)") == true)
        let field = try await notes(
            recorded: ("{}", "Redacted7AAAAAAAA"), sending: ("{}", "Redacted1AAAAAAAA"))
        #expect(
            field.count == 1 && field.first?.contains("(line 3) has the token in `Authorization` \(words)") == true,
            "\(field)")
    }

    @Test func `The same secrets, and secrets that no answer gives, are no difference`() async throws {
        let given = Self.refresh("Redacted2AAAAAAAA")
        let own = Self.refresh("Redacted7AAAAAAAA")
        for (recorded, sent) in [(given, given), (own, Self.refresh("x7Rq2LmZ9sKd4TbV")), (own, own)] {
            let notes = try await notes(recorded: (recorded, nil), sending: (sent, nil))
            #expect(notes.isEmpty, "\(recorded)")
        }
        let fields = try await notes(
            recorded: ("{}", "Redacted7AAAAAAAA"), sending: ("{}", "Redacted8AAAAAAAA"))
        #expect(fields.isEmpty)
    }

    @Test func `A secret that recorded requests have at the same place may be a later one`() async throws {
        let notes = try await notes(
            recorded: (Self.refresh("Redacted2AAAAAAAA"), nil), sending: (Self.refresh("Redacted3AAAAAAAA"), nil),
            others: [Self.refresh("Redacted3AAAAAAAA")])
        #expect(notes.isEmpty)
    }

    @Test func `A secret that the client has sent first is its own`() async throws {
        let notes = try await notes(
            recorded: (Self.refresh("Redacted2AAAAAAAA"), nil), sending: (Self.refresh("x7Rq2LmZ9sKd4TbV"), nil),
            login: Self.refresh("Redacted2AAAAAAAA"))
        #expect(notes.isEmpty)
    }
}
