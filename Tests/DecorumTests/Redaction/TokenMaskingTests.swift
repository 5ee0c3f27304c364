import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum
@testable import DecorumArchive

@Suite struct TokenMaskingTests {
    private static let letters = "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5fG7h"
    private static let tokens: [String] = [
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "ghp_\(letters.prefix(36))", "xoxb-1234567890-" + letters,
        "AKIAQWERTYUIOPASDF23", "sk_live_" + letters, "AIza\(letters.prefix(35))", "glpat-" + letters,
        "eyJhbGciOiJSU0EifQ.a2V5aw.aXY.Y2lwaGVy.dGFn", "eyJhbGciOiJkaXIifQ..aXY.Y2lwaGVy.dGFn",
        "SK0123456789abcdef0123456789abcdef",
    ]

    private let name = HTTPField.Name("X-Note") ?? .userAgent

    private func redacted(_ content: String, _ mediaType: String?) -> String {
        String(decoding: Redaction.standard.applied(to: Data(content.utf8), mediaType: mediaType), as: UTF8.self)
    }

    @Test(arguments: [
        "the card 4111 1111 1111 1111 was refused", "declined 5555-5555-5555-4444", "card 4111111111111111 expired",
        "card 378282246310005 declined",
    ])
    func `A card number in a sentence is replaced`(text: String) {
        #expect(TokenSearch.mayHoldToken(text))
        let shown = Redaction.standard.applied(toText: text)
        #expect(shown.contains("REDACTED") && !shown.contains("11"), "\(shown)")
    }

    @Test(arguments: tokens)
    func `A token is masked under any name, in every output`(token: String) {
        let redaction = Redaction.standard
        #expect(redaction.applied(to: [name: "see \(token), please"])[name] == "see REDACTED, please")
        #expect(redaction.applied(toURL: "/bot/\(token)/x?q=\(token)&a=1") == "/bot/REDACTED/x?q=REDACTED&a=1")
        #expect(redaction.applied(toURL: "/x?q=%22\(token)%22") == "/x?q=REDACTED")
        #expect(redaction.applied(toURL: "https://\(token)/") == "https://REDACTED/")
        #expect(redaction.applied(toText: "It was (\(token)).") == "It was (REDACTED).")
        #expect(
            redacted(#"{"note":"\#(token)","n":["a \#(token)"]}"#, "application/json")
                == #"{"note":"REDACTED","n":["a REDACTED"]}"#)
        #expect(redacted(#"{"\#(token)":{"a":1}}"#, "application/json") == #"{"REDACTED":{"a":1}}"#)
        #expect(
            redacted(#"{"body":"{\"note\":\"\#(token)\"}"}"#, "text/json") == #"{"body":"{\"note\":\"REDACTED\"}"}"#)
        #expect(redacted("note=\(token)&a=1", "application/x-www-form-urlencoded") == "note=REDACTED&a=1")
        #expect(redacted("<p>\(token)</p>", "text/html") == "<p>REDACTED</p>")
        #expect(redacted("say \(token)", "text/plain") == "say REDACTED")
        #expect(redacted("say \(token)", nil) == "say REDACTED")
        #expect(redacted("say \(token)", "image/png") == "say \(token)")
    }

    @Test func `Credentials after their scheme and private keys are masked`() {
        let redaction = Redaction.standard
        #expect(redaction.applied(to: [name: "Bearer abcdefgh12345678"])[name] == "Bearer REDACTED")
        #expect(redaction.applied(toText: "Basic bWU6czNjcmV0 was sent") == "Basic REDACTED was sent")
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nkq/hk+iG==\n-----END PRIVATE KEY-----"
        #expect(redacted("a \(key) b", "text/plain") == "a REDACTED b")
        #expect(redacted("a \(key.prefix(50))", "text/plain") == "a REDACTED")
        let json = key.replacing("\n", with: "\\n")
        #expect(redacted(#"{"note":"\#(json)","a":1}"#, "application/json") == #"{"note":"REDACTED","a":1}"#)
    }

    @Test(arguments: [
        "/v1/items/42?page=2&sort=name", "/docs/basic-information", "/assets/key-visual-of-the-year.png",
        "/links/ask-me-it",
        "Bearer realm=\"a\"", "Bearer resource_metadata2=\"https://a.example/x\"", "Basic realm=\"members\"",
        "sk-fading-circle",
        "AKIAIOSFODNN7EXAMPLE", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "eyJhIjoxfQ.eyJzdWIiOiIxIn0.c2lnbmF0", "d41d8cd98f00b204e9800998ecf8427e", "", "a", "eyJ..", "----- BEGIN",
    ])
    func `Text that only resembles a token stays`(text: String) {
        #expect(Redaction.standard.applied(to: [name: text])[name] == text)
        #expect(Redaction.standard.applied(toURL: text) == text)
        #expect(redacted(text, "text/plain") == text)
    }

    @Test func `Masking can be turned off`() throws {
        let token = try #require(Self.tokens.first)
        var redaction = Redaction.standard
        redaction.masksTokens = false
        for redaction in [redaction, .none] {
            #expect(redaction.applied(to: [name: token])[name] == token)
            #expect(redaction.applied(toURL: "/\(token)") == "/\(token)")
            let json = Data(#"{"note":"\#(token)"}"#.utf8)
            #expect(redaction.applied(to: json, mediaType: "application/json") == json)
        }
        #expect(redaction != .standard)
        let own = Redaction(placeholder: "-")
        #expect(own.applied(toURL: "/\(token)") == "/-")
    }

    @Test(arguments: tokens)
    func `A field with a token stays with its origin`(token: String) async throws {
        let stub = StubConnection(
            Response(status: .found, fields: [.location: "https://b.example/"]), Response(status: .ok))
        let request = try Request.get("https://a.example/", fields: [name: token, .accept: "*/*"])
        _ = try await stub.followingRedirects().send(request)
        #expect(stub.requests.map(\.head.headerFields) == [request.head.headerFields, [.accept: "*/*"]])

        let near = StubConnection(Response(status: .found, fields: [.location: "/2"]), Response(status: .ok))
        _ = try await near.followingRedirects().send(request)
        #expect(near.requests.map(\.head.headerFields) == [request.head.headerFields, request.head.headerFields])
    }

    @Test func `A text that is plain holds no secret`() {
        let generator = SeededGenerator(seed: 31)
        let parts =
            Self.tokens + [
                #"{"password":"s3cret"}"#, #"["s3cret"]"#, "4111 1111-1111 1111",
                "-----BEGIN PRIVATE KEY-----MIIEvQIBADANBg",
                "Bearer abcdefgh12345678", "Basic bWU6czNjcmV0", "bearer+", "eyJ", ".", "/", "\\n", "é", "1", "-", " ",
                "a", "card", "\\", "%20", "_",
            ]
        for _ in 0..<8_000 {
            let text = (0...generator.next() % 5).map { _ in parts[Int(generator.next() % UInt64(parts.count))] }
                .joined()
            guard TokenSearch.isPlain(text) else { continue }
            #expect(TokenSearch.tokens(in: Array(text.utf8)).isEmpty, "\(text)")
            #expect(!text.contains("\""), "\(text)")
        }
    }

    @Test func `A part of a text is searched like a whole text`() {
        let generator = SeededGenerator(seed: 23)
        let parts =
            Self.tokens + ["bearer+", "%", "\\u0041", "-----BEGIN PRIVATE KEY-----", "é", " ", "eyJ", ".", "a1="]
        for _ in 0..<2_000 {
            let text = Array(
                (0...generator.next() % 5).map { _ in parts[Int(generator.next() % UInt64(parts.count))] }.joined().utf8
            )
            let start = Int(generator.next() % UInt64(text.count + 1))
            let range = start..<start + Int(generator.next() % UInt64(text.count - start + 1))
            let moved = TokenSearch.tokens(in: Array(text[range])).map {
                $0.range.lowerBound + start..<$0.range.upperBound + start
            }
            #expect(TokenSearch.tokens(in: text, range).map(\.range) == moved)
        }
    }
}
