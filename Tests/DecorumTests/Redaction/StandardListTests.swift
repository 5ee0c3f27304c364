import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum
@testable import DecorumArchive

/// The list of names, in each of the places where it applies.
@Suite struct StandardListTests {
    private static let names = [
        "X-Custom-Authorization", "Grpc-Metadata-Authorization", "X-Acme-Cookie", "X-Acme-Credential",
        "X-Acme-Credentials", "X-Acme-Jwt", "X-Acme-Passwd", "X-Acme-Passphrase", "X-Acme-Private-Key", "X-Acme-Tokens",
        "X-Acme-Access-Key-Id", "JWT", "Bearer", "X-OTP", "Sec-WebSocket-Protocol", "X-Acme-Password", "X-Acme-Auth",
        "DPoP", "X-Acme-Session-Id", "X-Acme-Api-Key", "X-CSRF", "XToken", "x_acme_token",
    ]

    private func redacted(_ content: String, _ mediaType: String) -> String {
        String(decoding: Redaction.standard.applied(to: Data(content.utf8), mediaType: mediaType), as: UTF8.self)
    }

    @Test(
        arguments: [
            (names, ["field", "query", "form", "JSON"], []),
            (
                ["X-Acme-Signature", "Signature", "X-Hub-Signature-256", "X-Acme-Session"], ["field", "query"], ["JSON"]
            ),
            (["key", "code", "sig", "ticket", "sid"], ["query"], ["field", "JSON"]),
            (
                [
                    "appid", "app_key", "appKey", "user_key", "license_key", "serviceKey", "developerKey", "passkey",
                    "consumer_key", "Key-Pair-Id",
                ], ["query", "form"], ["JSON"]
            ),
            (
                [
                    "magic_link", "pass", "pw", "userPass", "user_pass", "loginPwd", "kennwort", "mot_de_passe",
                    "Passwort",
                ],
                ["query", "form", "JSON"], []
            ),
            (["bypass", "compass", "passed", "pwned"], [], ["JSON"]),
        ] as [([String], [String], [String])])
    func `A name applies in its places`(names: [String], places: [String], others: [String]) throws {
        for name in names {
            let field = try #require(HTTPField.Name(name))
            let shown = [
                "field": Redaction.standard.applied(to: [field: "s3cret"])[field] ?? "",
                "query": Redaction.standard.applied(toURL: "/?\(name)=s3cret"),
                "form": redacted("\(name)=s3cret", "application/x-www-form-urlencoded"),
                "JSON": redacted(#"{"\#(name)":"s3cret"}"#, "application/json"),
            ]
            let hidden = ["REDACTED", "/?\(name)=REDACTED", "\(name)=REDACTED", #"{"\#(name)":"REDACTED"}"#]
            for place in places { #expect(hidden.contains(shown[place, default: ""]), "\(name) in a \(place)") }
            for place in others { #expect(shown[place]?.contains("s3cret") == true, "\(name) in a \(place)") }
        }
    }

    @Test(arguments: [
        "primary_key", "foreignKey", "cache_key", "sort_key", "public_key", "partitionKey", "startkey", "page_key",
        "group_key", "idempotency_key", "monkey", "keyboard", "key_id", "keys", "bypass", "wrapped",
    ])
    func `A key of an entry is shown`(name: String) {
        #expect(Redaction.standard.applied(toURL: "/?\(name)=x7Rq2LmZ9sKd4TbV") == "/?\(name)=x7Rq2LmZ9sKd4TbV")
        let json = #"{"\#(name)":"shown"}"#
        #expect(redacted(json, "application/json") == json)
    }

    @Test(arguments: [
        ("WWW-Authenticate", "Bearer error=\"invalid_token\", scope1=\"a b\""),
        ("Content-Digest", "sha-256=:X48E9q==:"),
        ("Signature-Input", "sig1=(\"@method\" \"date\");created=1618884473;keyid=\"k\""), ("DPoP-Nonce", "abc"),
        ("Accept-Signature", "sig1=(\"@method\")"), ("Access-Control-Allow-Credentials", "true"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Idempotency-Key", "8e03978e"), ("ETag", "\"a\""),
        ("X-Max-Tokens", "1000"), ("X-Next-Page-Token", "abc"), ("Last-Event-ID", "7"), ("User-Agent", "a/1 (b; c)"),
        ("Host", "[::1]:8080"), ("X-Template", "{id}"), ("X-Request-Id", "018f6a2e-7b1c-7cc0-8000-000000000000"),
        ("Report-To", #"{"group":"a","max_age":1},{"group":"b","endpoints":[{"url":"https://a.example/r"}]}"#),
    ])
    func `A field that explains a failure is shown`(name: String, value: String) throws {
        let field = try #require(HTTPField.Name(name))
        #expect(Redaction.standard.applied(to: [field: value])[field] == value)
        #expect(!Redaction.standard.isSecret(HTTPField(name: field, value: value), secretFields: []))
    }

    @Test(arguments: names + ["X-Acme-Signature", "Signature", "X-Acme-Session", "Host", "Authorization"])
    func `A secret field distinguishes two requests, and is not sent to another origin`(name: String) throws {
        let field = try #require(HTTPField.Name(name))
        let one = try Request.get("https://a.example/", fields: [field: "one", .accept: "*/*"])
        let other = try Request.get("https://a.example/", fields: [field: "other", .accept: "*/*"])
        #expect(ResponseKey(one) != ResponseKey(other))

        let url = try #require(one.url)
        let decision = RedirectionDecision.after(
            HTTPResponse(status: .found, headerFields: [.location: "https://b.example/"]), to: one, at: url,
            policy: .standard, secretFields: [])
        guard case .follow(let next, _) = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(next.head.headerFields == [.accept: "*/*"])
    }

    @Test func `A field that the standard redaction replaces distinguishes requests`() throws {
        // In any spelling: random letters, hyphens and underscores around an ending of the list.
        let generator = SeededGenerator(seed: 41)
        let parts = ["x", "-", "_", "Acme", "TOKEN", "token", "Auth", "cookie", "page", "secret", "jwt", "key", "."]
        let rules = Redaction.standard.rules
        for _ in 0..<5_000 {
            let text = (0...generator.next() % 4).map { _ in parts[Int(generator.next() % 13)] }.joined()
            guard let name = HTTPField.Name(text) else { continue }
            let isSecret = Redaction.standard.isNamedSecret(HTTPField(name: name, value: "s3cret"), secretFields: [])
            #expect(!isSecret || rules.fields.contains(name) || rules.fieldNames.mayBeSecret(name), "\(text)")
        }
    }

    @Test(arguments: [
        (#"{"user":{"password":"s3cret","id":1}}"#, #"{"user":{"password":"REDACTED","id":1}}"#),
        (#"[{"token":"s3cret"},2]"#, #"[{"token":"REDACTED"},2]"#),
        (#"{"a":1}, {"jwt":"s3cret"}"#, #"{"a":1}, {"jwt":"REDACTED"}"#),
        (#"{"u":"https://me:s3cret@a.example/"}"#, #"{"u":"https://REDACTED@a.example/"}"#),
        (#"{"a":1,"token":"s3c"#, #"{"a":1,"token":REDACTED"#),
        (#"{"a":"b/c?d","n":[1,{"e":null}]}"#, #"{"a":"b/c?d","n":[1,{"e":null}]}"#),
    ])
    func `A field whose value is JSON is redacted as JSON`(value: String, expected: String) throws {
        let name = try #require(HTTPField.Name("X-Context"))
        #expect(Redaction.standard.applied(to: [name: value])[name] == expected)
        #expect(Redaction.none.applied(to: [name: value])[name] == value)
        let isSecret = Redaction.standard.isSecret(HTTPField(name: name, value: value), secretFields: [])
        #expect(isSecret == (value != expected))
    }

    @Test func `A field whose value is JSON is redacted as JSON before it is recorded`() throws {
        let name = try #require(HTTPField.Name("X-Context"))
        let fields: HTTPFields = [name: #"{"user":{"password":"s3cret"},"id":1}, {"a":2}"#]
        let rewriting = SecretRewriting(.standard, by: Pseudonyms())
        let named = rewriting.applied(to: fields)
        #expect(named[name] == #"{"user":{"password":"__password-1__"},"id":1}, {"a":2}"#)
        for cut in ["[::1]", #"{"a":"b""#, #"{"a":1"#, #"["#] {
            #expect(rewriting.applied(to: [name: cut])[name] == cut)
        }
    }
}
