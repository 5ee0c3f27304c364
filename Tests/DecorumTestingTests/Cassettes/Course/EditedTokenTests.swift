import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// A token that was edited in a recorded answer alone is told, since requests have another one then.
@Suite struct EditedTokenTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let login = Step(path: "/login")

    /// A request of the test, with its credentials.
    private struct Step {
        let path: String
        var credentials: String?
    }

    /// Sends requests to a cassette of a login that gives a token, and of two requests that were recorded with a placeholder.
    private func cassette(_ answer: String, _ steps: Step...) async throws -> Cassette {
        let items = ["/a", "/b"].map { path in
            #"{"request": {"method": "GET", "url": "https://example.com\#(path)","#
                + #" "headers": {"Authorization": "Bearer Redacted1AAAAAAAA"}}, "response": {"status": 200, "text": "a"}}"#
        }
        let login =
            #"{"request": {"method": "POST", "url": "https://example.com/login"}, "response": {"status": 200,"#
            + #" "headers": {"Content-Type": "application/json"}, "json": \#(answer)}}"#
        let list = ([login] + items).joined(separator: ",\n")
        try folder.write("{\"cassette\": 1, \"interactions\": [\n\(list)]}", to: "a.json")
        let cassette = try Cassette(at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow))
        for step in steps {
            let fields: HTTPFields = step.credentials.map { [.authorization: $0] } ?? [:]
            _ = try await CassetteConnection(cassette).send(
                Request(step.path == "/login" ? .post : .get, "https://example.com\(step.path)", fields: fields))
        }
        return cassette
    }

    @Test(arguments: ["editedtokens", "x7Rq2LmZ9sKd4TbV"]) func `A token of an answer that is no placeholder is told`(
        token: String
    ) async throws {
        let cassette = try await cassette(
            #"{"access_token": "\#(token)"}"#, Self.login, Step(path: "/a", credentials: "Bearer \(token)"))
        let note = try #require(cassette.notesOfPassedTest.first)
        #expect(cassette.notesOfPassedTest.count == 1)
        #expect(note.hasPrefix("1 request differs from the recording of "), "\(note)")
        #expect(
            note.contains(
                "\n  GET https://example.com/a (line 3) has a value that the recorded answer to POST "
                    + "https://example.com/login (line 2) gives, which is no placeholder\nfix: if the recorded answer was "
                    + "edited, write the placeholder of the recorded requests in it; else "), "\(note)")
        #expect(!note.contains(token), "\(note)")
    }

    @Test func `Each request with the token is told`() async throws {
        let credentials = "Bearer editedtokens"
        let cassette = try await cassette(
            #"{"access_token": "editedtokens"}"#, Self.login, Step(path: "/a", credentials: credentials),
            Step(path: "/b", credentials: credentials))
        let note = try #require(cassette.notesOfPassedTest.first)
        #expect(note.hasPrefix("2 requests differ ") && note.contains("/a (line 3) ") && note.contains("/b (line 4) "))
    }

    @Test(arguments: [
        // A token of this machine, and words that the answer has elsewhere.
        (#"{"access_token": "editedtokens"}"#, "Bearer otherwise-edited"), (#"{"token_type": "test"}"#, "Bearer test"),
        (#"{"access_token": "editedtokens"}"#, "Bearer access_token"),
        // A short word, which the test may have chosen.
        (#"{"access_token": "test"}"#, "Bearer test"), (#"{"access_token": "editedtoken"}"#, "Bearer editedtoken"),
        // The placeholder of the answer.
        (#"{"access_token": "Redacted1AAAAAAAA"}"#, "Bearer Redacted1AAAAAAAA"),
    ])
    func `A token that no answer gives, and a placeholder, are no difference`(
        answer: String, credentials: String
    ) async throws {
        let cassette = try await cassette(answer, Self.login, Step(path: "/a", credentials: credentials))
        #expect(cassette.notesOfPassedTest.isEmpty)
    }

    @Test func `An answer that was played later gives no token`() async throws {
        let cassette = try await cassette(
            #"{"access_token": "editedtokens"}"#, Step(path: "/a", credentials: "Bearer editedtokens"), Self.login)
        #expect(cassette.notesOfPassedTest.isEmpty)
    }
}
