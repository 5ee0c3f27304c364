import Decorum
import DecorumArchive
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite struct SecretScannerTests {
    private static let letters = "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5fG7h"

    private func kinds(_ text: String, allowing: [SecretAllowance] = []) -> [String] {
        SecretScanner(environment: [:], allowing: allowing).findings(in: Data(text.utf8)).map(\.kind.name)
    }

    @Test(
        arguments: [
            ("AKIA" + "QWERTYUIOPASDF23", "AWS access key"), ("ghp_\(letters.prefix(36))", "GitHub token"),
            ("github_pat_\(letters)_a", "GitHub token"), ("xoxb-1234567890-\(letters)", "Slack token"),
            ("sk_live_\(letters)", "Stripe key"), ("AIza\(letters.prefix(35))", "Google API key"),
            ("sk-ant-api03-\(letters)", "Anthropic key"), ("sk-proj-\(letters)", "OpenAI key"),
            ("SG.\(letters.prefix(22)).\(letters)abc", "SendGrid key"),
            ("npm_\(letters.prefix(36))", "npm token"),
            ("SK0123456789abcdef0123456789abcdef", "Twilio key"),
            ("pypi-AgEIcHlwaS5vcmc\(letters)\(letters)", "PyPI token"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "JSON Web Token"),
            ("-----BEGIN RSA PRIVATE KEY-----\\nMIIEpAIBAAKCAQ", "private key"),
            ("Bearer abcdefgh12345678", "Bearer token"), ("Basic bWU6czNjcmV0", "Basic credentials"),
            ("https://me:s3cr3t@a.example/", "password in a URL"),
            ("https:\\/\\/me:s3cr3t@a.example\\/", "password in a URL"),
        ] as [(String, String)])
    func `A value with the shape of a secret is found anywhere`(token: String, kind: String) {
        for text in [token, "{\"a\":\"\(token)\"}", "a=\(token)&b", "x%3D\(token)", "line\\n\(token)\\n", "(\(token))"]
        {
            #expect(kinds(text) == [kind])
        }
        #expect(kinds(token, allowing: [.kind(SecretKind(kind))]).isEmpty)
    }

    @Test func `A secret key of AWS is found as a word`() {
        let key = PlantedSecret.awsSecret
        for text in [key, "{\"a\":\"\(key)\"}", "it is \(key)\n"] { #expect(kinds(text) == ["AWS secret key"]) }
        let others = [
            Self.letters, "https://a.\(key)", "/" + key.dropFirst(), key + "A", String(key.dropLast()),
            key.lowercased(),
            "Users/Shared/Projects/Example/Source2024",
            // A secret key without either sign is as likely an identifier.
            key.replacing(/[+\/]/, with: "x"),
        ]
        for text in others { #expect(kinds(text) == [], "\(text)") }
    }

    @Test(arguments: [
        "", "Bearer Redacted1AAAAAAAAA", "Basic Redacted1AAA", "Bearer __authorization-1__",
        "https://__userinfo-1__@a.example/",
        "Bearer realm=\"a\"", "Bearer token authentication", "Basic information", "https://user:password@a.example",
        "AKIAIOSFODNN7EXAMPLE", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk-fading-circle sk-cube-grid-animation",
        "-----BEGIN PUBLIC KEY-----\\nMIIBIjANBgkq", "-----BEGIN PRIVATE KEY-----",
        "eyJhIjoxfQ.eyJzdWIiOiIxIn0.c2lnbmF0",
        "https://unpkg.com/a@1.2", "https://a.example:443/@me", "https://a.example/?q=a:b@c",
        "xAKIAQWERTYUIOPASDF23", "AKIAQWERTYUIOPASDF234",
    ])
    func `A value that only resembles a secret is not found`(text: String) {
        #expect(kinds(text) == [])
    }

    @Test(arguments: [
        "var csrfToken = \"\(letters)\";", "api_key: '\(letters)'", "<access_token>\(letters)</access_token>",
        #"{\"script\":\"secret=\\\"\(letters)\\\"\"}"#.replacing(#"\(letters)"#, with: letters),
        "{\"x\": {\"DB_PASSWORD\" : \"\(letters)\"}}",
    ])
    func `A long value is found behind the name of a secret`(text: String) {
        #expect(kinds(text) == ["value named like a secret"])
        #expect(kinds(text.replacing(Self.letters, with: "Redacted1AAAAAAAAAAA")) == [])
        #expect(kinds(text.replacing(Self.letters, with: "see-the-documentation")) == [])
        #expect(kinds(text, allowing: [.kind(.namedValue)]) == [])
        #expect(kinds(text, allowing: [.text(Self.letters)]) == [])
    }

    @Test(arguments: [
        "\"next_page_token\": \"\(letters)\"", "monkey=\"\(letters)\"", "token = \(letters)", "id: \"\(letters)\"",
        "token: \"a, b, c\"", ": \"\(letters)\"", "=", ">", "token=", "token=\"", "\"token\":\"1234567890123456789\"",
    ])
    func `A value that may be anything is not`(text: String) {
        #expect(kinds(text) == [])
    }

    @Test func `The values of the environment are found in every spelling`() {
        let value = "p/ss \"w+rd?é~"
        let scanner = SecretScanner(environment: [
            "MY_PASSWORD": value, "API_KEY": "true", "TOKEN_TTL": "86400000", "HOME": "/home/somebody",
            "SECRET_WORD": "password", "TOKENS_PER_DAY": "86400000", "WORD_TOKEN": "planted", "SHORT_TOKEN": "ab12",
        ])
        let spellings = [
            value, "p%2Fss%20%22w%2Brd%3F%C3%A9~", "p%2fss%20%22w%2brd%3f%c3%a9~", #"p/ss \"w+rd?é~"#,
            #"p\/ss \"w+rd?é~"#, Data(value.utf8).base64EncodedString(), Data("me:\(value)".utf8).base64EncodedString(),
            Data("a\(value)!!".utf8).base64EncodedString(), Data("ab\(value)".utf8).base64EncodedString(),
        ]

        for spelling in spellings {
            let findings = scanner.findings(in: Data("[\(spelling)]".utf8))
            #expect(findings.map(\.variable) == ["MY_PASSWORD"], "\(spelling)")
        }
        #expect(scanner.findings(in: Data("true 86400000 /home/somebody password planted ab12".utf8)).isEmpty)
        let allowing = SecretScanner(environment: ["MY_PASSWORD": value], allowing: [.text(value)])
        #expect(allowing.findings(in: Data(value.utf8)).isEmpty)
    }

    @Test func `The error tells file, place and kind, and never the secret`() throws {
        let token = "ghp_" + Self.letters.prefix(36)
        let text = """
            {
              "interactions": [
                {"request": {"url": "https://me:s3cr3t@a.example/"}},
                {"response": {"json": {"\(token)": {"a": "Bearer \(token)"}}}}
              ]
            }
            """
        let error = try #require(throws: SecretFoundError.self) {
            try SecretScanner(environment: [:]).check(Data(text.utf8), file: "Cassettes/feed.json")
        }

        #expect(
            error.findings.map(\.description) == [
                "password in a URL at $.interactions[0].request.url, line 3",
                "GitHub token at $.interactions[1].response.json.*, line 4",
                "Bearer token at $.interactions[1].response.json.*.a, line 4",
            ])
        #expect(error.description.contains("Cassettes/feed.json"))
        #expect(!error.description.contains(token) && !error.description.contains("s3cr3t"))
        #expect(!String(describing: error.localizedDescription).contains(token))
    }

    @Test func `Secrets that are planted in an exchange are named, and nothing is left to find`() {
        let secret = "ghp_" + Self.letters.prefix(36)
        let rewriting = SecretRewriting(.standard, by: Pseudonyms())
        let url = rewriting.applied(toURL: "https://a.example/?token=\(secret)")
        let fields = rewriting.applied(
            to: [.cookie: "sid=\(secret)", .setCookie: "sid=\(secret); Path=/", .authorization: "Bearer \(secret)"])
        let content = rewriting.applied(
            to: Data("{\"access_token\":\"\(secret)\",\"echo\":\"x\(secret)\"}".utf8), mediaType: "application/json")
        let text = ([url, String(decoding: content, as: UTF8.self)] + fields.map(\.value)).joined(separator: "\n")
        #expect(!text.contains(secret))
        #expect(text.components(separatedBy: "__token-1__").count == 7)
        #expect(SecretScanner(environment: ["T_TOKEN": secret]).findings(in: Data(text.utf8)).isEmpty)
    }

    @Test func `Any bytes can be scanned`() {
        let generator = SeededGenerator(seed: 5)
        let words = [
            "eyJ", ".", "Bearer ", "Basic ", "://", ":", "@", "-----BEGIN ", "PRIVATE KEY-----", "\\", "%", "\"", "{",
            "[",
            "}", ",", "sk-", "AKIA", "a", "\n", "=", "\\u",
        ]
        let scanner = SecretScanner(environment: ["A_KEY": "abcdefgh"])
        for _ in 0..<2000 {
            var data = Data()
            for _ in 0..<generator.next() % 30 {
                let draw = generator.next()
                data +=
                    draw % 4 == 0
                    ? Data([UInt8(truncatingIfNeeded: draw >> 8)]) : Data(words[Int(draw >> 8) % words.count].utf8)
            }
            let planted = data + Data(" AKIAQWERTYUIOPASDF23 ".utf8)
            // Behind `Bearer` it is a token of another kind.
            let kinds: Set = ["AWS access key", "Bearer token"]
            #expect(scanner.findings(in: planted).contains { kinds.contains($0.kind.name) })
        }
    }

    @Test func `A text is shown without what looks like a secret in it`() {
        let scanner = SecretScanner(environment: ["API_TOKEN": "no-shape-at/all"], allowing: ["AKIAQ3EGUBT7ZLMW5XN2"])
        let texts = [
            ("a no-shape-at/all b", "a __secret__ b"), ("no-shape-at%2Fall", "__secret__"), ("nothing", "nothing"),
            ("", ""), ("AKIAQ3EGUBT7ZLMW5XN2", "AKIAQ3EGUBT7ZLMW5XN2"),
            ("x -----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY----- y", "x __secret__ y"),
            ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg", "__secret__"),
        ]
        for (text, shown) in texts { #expect(scanner.masked(text) == shown) }
    }
}
