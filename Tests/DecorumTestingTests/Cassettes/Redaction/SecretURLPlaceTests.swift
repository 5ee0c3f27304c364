import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A file that is not written, because a request has a secret in its URL.
@Suite struct SecretURLPlaceTests {
    private static let token = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"

    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Records requests, whose answers have some content.
    private func record(
        _ paths: [String], _ mode: CassetteMode = .once, answer: String = "x", rules: CassetteRules = .silent
    ) async throws {
        let cassette = try Cassette(at: folder.path("a.json"), mode: mode, rules: rules)
        let stub = StubConnection { _ in Response(status: .ok, body: Body(Data(answer.utf8))) }
        let connection = CassetteConnection(cassette, recording: stub)
        for path in paths { _ = try await connection.send(.get("https://example.com/\(path)")) }
        try await cassette.finish()
    }

    /// The error for a secret in the last of some requests, without the secret.
    private func error(
        _ paths: String..., mode: CassetteMode = .once, answer: String = "x"
    ) async throws -> String {
        let error = await #expect(throws: SecretFoundError.self) { try await record(paths, mode, answer: answer) }
        let text = try #require(error).description
        #expect(!text.contains(Self.token))
        return text
    }

    @Test(arguments: [
        ("search?page=1&q=\(token)&a=b", "\"q\"", "search?page=1&q=__secret__&a=b"),
        ("search?filter%5Bname%5D=\(token)", "\"filter[name]\"", "search?filter"),
        ("?q==\(token)", "\"q\"", "?q==__secret__"),
    ])
    func `A secret in the query is told with its item, the request, and the rule for the item`(
        path: String, item: String, shown: String
    ) async throws {
        let text = try await error(path)
        #expect(text.contains("GitHub token in the query item \(item) of GET https://example.com/\(shown)"), "\(text)")
        #expect(
            text.hasSuffix(
                """

                fix: if the request is not meant to send it, remove it there; else replace it by the name of its place, \
                as in `rules.redaction.queryItems.insert(\(item))`, or in `rules.beforeRecording`; if it is made up, \
                `rules.allowedSecrets.append("the value")` leaves it
                """), "\(text)")
        #expect(!text.contains("$.") && !text.contains("line "), "\(text)")
    }

    @Test func `The rule for the item lets the file be written`() async throws {
        var rules = CassetteRules.silent
        rules.redaction.queryItems.insert("q")
        try await record(["search?q=\(Self.token)"], rules: rules)
        #expect(try !folder.text("a.json").contains(Self.token))
    }

    @Test(arguments: [
        ("files/\(token)/x", "files/__secret__/x"), ("search?\(token)", "search?__secret__"),
        ("search?\(token)=1", "search?__secret__=1"),
    ])
    func `A secret elsewhere in the URL is told with the request, and with no rule for a name`(
        path: String, shown: String
    ) async throws {
        let text = try await error(path)
        #expect(text.contains("\n  GitHub token in the URL of GET https://example.com/\(shown)\n"), "\(text)")
        #expect(text.contains("; else replace it in `rules.beforeRecording`; if it is made up"), "\(text)")
    }

    @Test func `A secret that the answer repeats has both rules`() async throws {
        let text = try await error("search?q=\(Self.token)", answer: "none for \(Self.token)")
        #expect(text.contains("\n  GitHub token in the query item \"q\" of GET "), "\(text)")
        #expect(text.contains("\n  GitHub token at $.interactions[0].response."), "\(text)")
        #expect(
            text.contains(
                "as in `rules.redaction.queryItems.insert(\"q\")` and `rules.redaction.jsonPaths.insert(\"user.pin\")`"),
            "\(text)")
    }

    @Test func `The request is the one that sends it, also after others in the file`() async throws {
        try await record(["b", "c"])
        let text = try await error("d", "e?q=\(Self.token)", mode: .append)
        #expect(text.contains(" in the query item \"q\" of GET https://example.com/e?q=__secret__\n"), "\(text)")
    }
}
