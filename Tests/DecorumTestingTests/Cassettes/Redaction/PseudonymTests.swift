import Decorum
import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// The text in place of a secret counts the secrets of its kind, and keeps a form that a parser may need.
@Suite struct PseudonymTests {
    private func pseudonym(_ secret: String, _ name: String = "password", in pseudonyms: Pseudonyms = Pseudonyms())
        -> String
    {
        SecretRewriting(.standard, by: pseudonyms).applied(toURL: "?\(name)=\(secret)").replacing("?\(name)=", with: "")
    }

    @Test(arguments: [
        ("hunter2", "password", "__password-1__"), ("x", "pass", "__password-1__"),
        ("x7Rq2Lm", "client_secret", "__secret-1__"),
        ("ghp_x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o", "access_token", "__token-1__"),
        ("x7Rq2Lm", "api_key", "__key-1__"),
        ("x7Rq2Lm", "sid", "__secret-1__"), ("x7Rq2Lm", "PHPSESSID", "__secret-1__"),
        ("x7Rq2Lm", "sig", "__signature-1__"),
        ("p@ss!w", "password", "__password-1__"), ("ada@example.com", "password", "__password-1__"),
        ("4", "password", "1"), ("4821", "password", "1001"), ("123456", "password", "101001"),
        ("4111111111111111", "password", "1010101010101001"),
        ("3f2b8c1e-1234-4567-9876-120934875610", "password", "aaaaaaaa-aaaa-aaaa-aaaa-dec0de1aaaaa"),
        ("12345678-1234-4567-8901-123456789012", "password", "AAAAAAAA-AAAA-AAAA-AAAA-DEC0DE1AAAAA"),
        ("aB3dE5gH7jK9mN1pQ3sT5w==", "password", "Redacted1AAAAAAAAAAAAA=="), ("aB+c/d==", "password", "Xq1AAA=="),
        ("aB/dE+gH7jK9mN1p", "password", "__password-1__"),
    ])
    func `A placeholder has its kind and number, and the form of its secret where a parser may need one`(
        secret: String, name: String, expected: String
    ) {
        let text = pseudonym(secret.replacing("+", with: "%2B").replacing("/", with: "%2F"), name)
        #expect(text == expected || text == expected.replacing("=", with: "%3D"))
        // Fewer digits have no mark, and a secret may have the same form.
        let isMarked = !secret.allSatisfy(\.isNumber) || secret.count >= 12
        #expect(Pseudonym.isPseudonym(expected.utf8) == isMarked)
        #expect((pseudonym(text, name) == text) == isMarked)
    }

    @Test(arguments: ["1001", "1234", "10234", "101234", "1010101", "__a__", "c"])
    func `A secret in the form of a placeholder without a mark is replaced all the same`(secret: String) {
        let pseudonyms = Pseudonyms()
        let text = pseudonym(secret, in: pseudonyms)
        #expect(text != secret)
        #expect(pseudonym(text, in: pseudonyms) == text)
    }

    @Test(arguments: ["hunter2-", "aB3dE5gH7jK9mN1pQ3sT%2B", "3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e"])
    func `Each secret has a pseudonym of its own, which is recognized`(start: String) {
        let pseudonyms = Pseudonyms()
        let texts = (10..<99).map { pseudonym("\(start)\($0)", in: pseudonyms) }
        #expect(Set(texts).count == texts.count)
        for text in texts { #expect(Pseudonym.erased(in: "/a/\(text)/b") == "/a/__secret__/b", "\(text)") }
    }

    @Test func `A secret has one pseudonym, and a short one has one for each name`() {
        let pseudonyms = Pseudonyms()
        #expect(pseudonym("first-secret", in: pseudonyms) == pseudonym("first-secret", "client_secret", in: pseudonyms))
        #expect(pseudonym("other-secret", in: pseudonyms) != pseudonym("first-secret", in: pseudonyms))
        #expect(pseudonym("zz1", in: pseudonyms) != pseudonym("zz1", "pass", in: pseudonyms))
    }

    @Test func `Pseudonyms of a file are not assigned again`() {
        let pseudonyms = Pseudonyms()
        pseudonyms.reserve(in: Array(#"{"a":"Redacted1AAAAAAAAAAAAA==","b":["x-__password-1__"]}"#.utf8))
        #expect(pseudonym("x7Rq2LmZ9sKd4TbV", in: pseudonyms) == "__password-2__")
        #expect(pseudonym("aB3dE5gH7jK9mN1pQ3sT5w%3D%3D", in: pseudonyms).hasPrefix("Redacted2AAAAAAAAAAAAA"))
    }

    @Test(arguments: [
        ("/x?token=__token-3__&page=2", "/x?token=__secret__&page=2"), ("x___token-12___y", "x___secret___y"),
        ("__a-1____b-2__", "__secret____secret__"), ("/bot__token-1__/me", "/bot__secret__/me"),
        ("Redacted1AAAA%3D%3D&", "__secret__&"), ("1010101010101001", "__secret__"),
        ("__typename", "__typename"), ("__x__", "__x__"), ("__token-01__", "__token-01__"),
        ("was redacted by 2 people", "was redacted by 2 people"), ("REDACTED", "REDACTED"), ("dec01", "dec01"),
        ("101001", "101001"), ("1000000000000001", "1000000000000001"), ("xq1aaaab", "xq1aaaab"),
        ("decorated", "decorated"), ("", ""), ("_", "_"), ("__secret__", "__secret__"),
    ])
    func `Redacted texts are compared without the pseudonyms in them`(text: String, expected: String) {
        #expect(Pseudonym.erased(in: text) == expected)
        #expect(Pseudonym.erased(in: expected) == expected)
    }

    /// The texts that earlier versions wrote, with the alphabet and the separators of the secret.
    @Test(arguments: [
        "xq1aaaa", "xqcaaaaa", "XQ3AAAA", "Xq1AAAA", "xqcaaaa-aaaaa-1", "redacted1aaaaaaaaa",
        "aaa_Redacted1AAAAAAAAAAAAAAAAAAAAAAAAAAA", "dec0de1aaaaaaaaaaaaaaaaaaaaaaaaa",
        "REDACTED3AAAAAAAAAAAAAAAAAAAAAAA",
        "DEC0DE1AAAAAAAAAAAAAAAAAAAAAAAAA", "aaaa.Redacted1AAAAAAAAAA", "aa-aaaa-Redacted1AAAAAAAAAAA",
        "AAAAAA:Redacted1AAAAAAA", "aaa@xqcaaaa.aaa", "aaaaa.aaaaaa-1@aaaa.xq1aaaaa.aaa", "__access-token-1__",
        "aaaaaaaa-aaaa-4aaa-aaaa-dec0de1aaaaa",
    ])
    func `Placeholders of earlier versions are recognized`(text: String) {
        #expect(Pseudonym.isPseudonym(text.utf8))
        #expect(Pseudonym.erased(in: "/a/\(text)/b?c=\(text)") == "/a/__secret__/b?c=__secret__")
        #expect(pseudonym(text) == text)
    }

    @Test func `A JSON Web Token decodes with the same names of claims, and no scanner takes it for a token`() throws {
        func encoded(_ json: String) -> String {
            Data(json.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        let claims =
            #"{"sub":"user-4821","name":"Jo Doe","exp":1893456000,"iat":1893450000,"aud":"app","roles":["admin7"]}"#
        let token =
            encoded(#"{"alg":"HS256","typ":"JWT","kid":"k1"}"#) + "." + encoded(claims)
            + ".c2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlMTIz"
        let text = pseudonym(token, "access_token")

        let parts = text.split(separator: ".")
        #expect(parts.count == 3)
        func object(_ part: Substring) throws -> NSDictionary {
            let data = try #require(Base64Text.decode(Array(part.utf8)[...]).map { Data($0) })
            return try #require(try JSONSerialization.jsonObject(with: data) as? NSDictionary)
        }
        #expect(try object(parts[0]) == ["alg": "HS256", "typ": "JWT", "kid": "k1"])
        let masked = try object(parts[1])
        #expect(Set(masked.allKeys.compactMap { $0 as? String }) == ["sub", "name", "exp", "iat", "aud", "roles"])
        #expect(masked["aud"] as? String == "app")
        #expect(masked["exp"] as? Int == 4_102_444_800)
        for part in ["4821", "Doe", "admin7"] { #expect(!"\(masked)".contains(part)) }
        #expect(!text.contains("eyJ"))
        #expect(TokenSearch.tokens(in: Array(text.utf8)).isEmpty)
        #expect(Pseudonym.isPseudonym(text.utf8))
        #expect(Pseudonym.erased(in: "a \(text) b") == "a __secret__ b")
        #expect(pseudonym(text, "access_token") == text)
    }
}

/// Secret scanners find tokens by the prefixes of services, and other secrets by their entropy.
///
/// The bounds are from gitleaks (3.5 bits for texts of at most 150 characters behind the name of a secret) and of
/// detect-secrets (3 bits for hexadecimal digits).
@Suite struct PseudonymScannerTests {
    private static let letters = "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1oaB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5fG7h"
    private static let hex = "5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99"

    private static let tokens: [String] = [
        "ghp_" + letters.prefix(36), "github_pat_" + letters + letters.prefix(10), "glpat-" + letters.prefix(20),
        "xoxb-" + "1234567890-" + letters.prefix(24), "AKIA" + "QWERTYUIOPASDF23", "AIza" + letters.prefix(35),
        "sk-ant-api03-" + letters + letters.prefix(20), "sk-proj-" + letters, "sk_live_" + letters.prefix(24),
        "SG." + letters.prefix(22) + "." + letters.prefix(43), "npm_" + letters.prefix(36), "SK" + hex.prefix(32),
        "pypi-AgEIcHlwaS5vcmc" + letters + letters, "dop_v1_" + hex, "shpat_" + hex.prefix(32),
        "hvs." + letters + letters.prefix(20), "rubygems_" + hex.prefix(48), "lin_api_" + letters.prefix(40),
        "dapi" + hex.prefix(32), "PMAK-" + hex.prefix(24) + "-" + hex.prefix(34), "figd_" + letters.prefix(40),
        "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw9", "\(hex.prefix(32))-us12",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1In0.c2lnbmF0dXJl",
        String(hex.prefix(40)), String(letters.prefix(20)), "3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d", "hunter2-hunter2",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYQ1k2l3m4n5", "4111111111111111",
    ]

    /// The shapes of a bot's token and of a key of Mailchimp.
    private static var rulesWithoutPrefix: [Regex<Substring>] {
        [/[0-9]{8,10}:[0-9A-Za-z_\-]{35}/, /[0-9a-z]{32}-us[0-9]{1,2}/]
    }

    @Test(arguments: tokens)
    func `No rule matches a placeholder`(token: String) throws {
        let pseudonyms = Pseudonyms()
        let rewriting = SecretRewriting(.standard, by: pseudonyms)
        for number in 0..<30 {
            // Each has another number.
            let secret = number == 0 ? token : String(token.dropLast(2)) + String(number + 10)
            for name in ["token", "password", "aws_secret_access_key", "api_key"] {
                let json = Data("{\"\(name)\":\"\(secret)\"}".utf8)
                let output = String(
                    decoding: rewriting.applied(to: json, mediaType: "application/json"), as: UTF8.self)
                let text = String(output.dropFirst(name.count + 5).dropLast(2))
                #expect(text != secret && !text.isEmpty, "\(name) \(secret)")
                #expect(text.count < 40 || text.count == secret.count || text.count >= 160)
                #expect(TokenSearch.tokens(in: Array(output.utf8)).isEmpty, "\(output)")
                #expect(SecretScanner(environment: [:]).findings(in: Data(output.utf8)).isEmpty, "\(output)")
                #expect(text.count > 150 || Self.entropy(text) < 3.5, "\(text) \(Self.entropy(text))")
                for rule in Self.rulesWithoutPrefix { #expect(text.firstMatch(of: rule) == nil, "\(text)") }
                let isHex = text.allSatisfy { $0.isHexDigit }
                #expect(!isHex || Self.entropy(text) < 3, "\(text)")
            }
        }
    }

    /// The entropy of Shannon, in bits for a character.
    private static func entropy(_ text: String) -> Double {
        let counts = Dictionary(grouping: text, by: { $0 }).mapValues { Double($0.count) / Double(text.count) }
        return counts.values.reduce(0) { $0 - $1 * log2($1) }
    }
}

@Suite struct PseudonymRedactionTests {
    private let pseudonyms = Pseudonyms()

    private var rewriting: SecretRewriting { SecretRewriting(.standard, by: pseudonyms) }

    /// Makes a secret known by a field.
    private func learn(_ secret: String) { _ = fields([.authorization: secret]) }

    private func url(_ url: String) -> String {
        rewriting.applied(toURL: url)
    }

    private func fields(_ fields: HTTPFields) -> HTTPFields {
        rewriting.applied(to: fields)
    }

    private func json(_ json: String, mediaType: String? = "application/json") -> String {
        let data = rewriting.applied(to: Data(json.utf8), mediaType: mediaType)
        return String(decoding: data, as: UTF8.self)
    }

    @Test func `A secret has the same pseudonym in JSON, URL, form, cookie and field`() {
        #expect(json(#"{"access_token":"aB+c\/d=="}"#) == #"{"access_token":"Xq1AAA=="}"#)
        #expect(url("/feed?token=aB%2Bc%2fd%3D%3D&page=2") == "/feed?token=Xq1AAA%3D%3D&page=2")
        #expect(
            json("password=aB%2Bc%2Fd%3D%3D&a=b", mediaType: "application/x-www-form-urlencoded")
                == "password=Xq1AAA%3D%3D&a=b")
        #expect(fields([.authorization: "Bearer aB+c/d=="]) == [.authorization: "Bearer Xq1AAA=="])
        #expect(fields([.cookie: "sid=aB%2Bc/d==; lang=de"]) == [.cookie: "sid=Xq1AAA%3D%3D; lang=de"])
        #expect(json(#"{"authorization":"Bearer aB+c/d=="}"#) == #"{"authorization":"Bearer Xq1AAA=="}"#)
    }

    @Test(arguments: [
        ("Bearer abc", "Bearer __credentials-1__"), ("Basic bWU6czNjcmV0", "Basic __credentials-1__"),
        ("Digest username=\"me\", response=\"s3cret\"", "Digest __credentials-1__"),
        ("s3cret", "__credentials-1__"), ("", ""), ("Bearer", "__credentials-1__"),
        ("Bearer  __token-4__", "Bearer  __token-4__"), ("Bearer REDACTED", "Bearer REDACTED"),
    ])
    func `The scheme of credentials stays`(value: String, expected: String) {
        #expect(fields([.authorization: value]) == [.authorization: expected])
    }

    @Test(arguments: [
        ("sid=s3cret; Path=/; HttpOnly", "sid=__cookie-1__; Path=/; HttpOnly"),
        ("sid=; Max-Age=0", "sid=; Max-Age=0"), ("sid=\"s3cret\"; Path=/", "sid=\"__cookie-1__\"; Path=/"),
        ("sid=\"\"", "sid=\"\""), ("s3cret", "__cookie-1__"),
        (
            "a=one1; Expires=Wed, 09 Jun 2027 10:18:14 GMT, b=two2; Path=/",
            "a=__cookie-1__; Expires=Wed, 09 Jun 2027 10:18:14 GMT, b=__cookie-2__; Path=/"
        ),
    ])
    func `Only the value of a cookie in Set-Cookie is secret`(value: String, expected: String) {
        #expect(fields([.setCookie: value]) == [.setCookie: expected])
    }

    @Test func `Each sent cookie keeps its name, and an empty value stays empty`() {
        #expect(
            fields([.cookie: "session=s3cret-ab1cd2e; theme=;csrf=s3cret-zz1cd2e ; alone"])
                == [.cookie: "session=__cookie-1__; theme=;csrf=__cookie-2__ ; alone"])
    }

    @Test func `Values of JSON keep their type`() {
        let text = #"{"token":null,"secret":{"a":"one two","n":1234567,"b":[true,"",12]},"otp":123456,"id":1234567}"#
        let expected =
            #"{"token":null,"secret":{"a":"__secret-1__","n":1010101,"b":[true,"",12]},"otp":101001,"id":1234567}"#
        #expect(json(text) == expected)
    }

    @Test(arguments: [
        (#"{"password":"s3cret","a":[1,"#, #"{"password":"__password-1__","a":[1,"#),
        (#"{"a":1,"password":"s3cr"#, #"{"a":1,"password":"__password-1__"#),
        (#"callback({"token" : "s3cret", "page": 1});"#, #"callback({"token" : "__token-1__", "page": 1});"#),
        (#")]}',{"token":"s3cret"}"#, #")]}',{"token":"__token-1__"}"#),
        ("Not found", "Not found"), ("{'token': 1}", "{'token': 1}"), (#"{"token":"#, #"{"token":"#),
        (#"{"password":"\"#, #"{"password":"__password-1__"#),
        (#"{"password":"a\u00"#, #"{"password":"__password-1__"#),
    ])
    func `Unreadable content is unchanged except for known secrets`(text: String, expected: String) {
        #expect(json(text) == expected)
        #expect(json(expected) == expected)
    }

    @Test func `Text is unchanged except for secrets in links and known secrets`() {
        let page = #"<a href="/reset?token=s3cret-s3cret">a</a> <script>if(a?b:c.token=d)f()</script> s3cret-s3cret"#
        let expected =
            #"<a href="/reset?token=__token-1__">a</a> <script>if(a?b:c.token=d)f()</script> __token-1__"#
        #expect(json(page, mediaType: "text/html") == expected)
        #expect(
            json("https://a.example/?token=one1\nhttps://a.example/?page=2", mediaType: "text/plain")
                == "https://a.example/?token=__token-2__\nhttps://a.example/?page=2")
    }

    @Test func `A long known secret is replaced at places that no name marks`() {
        learn("123456:ABC-DEF1234")
        learn("short")
        #expect(url("/bot123456:ABC-DEF1234/getMe") == "/bot__credentials-1__/getMe")
        #expect(url("/bot123456%3AABC-DEF1234/getMe") == "/bot__credentials-1__/getMe")
        #expect(json(#"{"echo":"[123456:ABC-DEF1234]"}"#) == #"{"echo":"[__credentials-1__]"}"#)
        #expect(url("/short") == "/short")
    }

    @Test func `The user name and password of a URL are redacted`() {
        #expect(url("https://me:pw@a.example/of") == "https://__credentials-1__@a.example/of")
    }

    @Test func `A number with a known secret's digits does not break JSON`() {
        learn("1234567890123456")
        #expect(json(#"{"id":1234567890123456}"#) == #"{"id":1234567890123456}"#)
    }

    @Test func `Content that is not text stays`() {
        learn("s3cret-s3cret")
        let data = Data([0xFF, 0]) + Data("s3cret-s3cret".utf8)
        #expect(rewriting.applied(to: data, mediaType: "image/png") == data)
    }

    @Test func `Redacting twice changes nothing more`() async {
        let generator = SeededGenerator(seed: 7)
        let words = [
            "{", "}", "[", "]", "\"", ":", ",", "token", "\"password\":", "authorization", "?", "&", "=", "/", "//",
            "https://a.example/", "@", "%22", "%7B", "\\", "\\u00", "Bearer ", " ", "one-long-s3cret", "x", "12345678",
            "__token-1__", "__", "-", "1", "null", "#", ";", "é", "\"cookie\"", "\n", "token-1__token-1",
        ]
        for _ in 0..<(Footprint.isSoak ? 10_000 : 1000) {
            await Task.yield()
            let text = (0..<1 + generator.next() % 24)
                .map { _ in words[Int(generator.next() % UInt64(words.count))] }.joined()
            for mediaType in ["application/json", "text/plain", "application/x-www-form-urlencoded"] {
                let rewriting = SecretRewriting(.standard, by: Pseudonyms())
                let once = rewriting.applied(to: Data(text.utf8), mediaType: mediaType)
                let twice = rewriting.applied(to: once, mediaType: mediaType)
                let anew = SecretRewriting(.standard, by: Pseudonyms()).applied(to: once, mediaType: mediaType)
                #expect(String(decoding: twice, as: UTF8.self) == String(decoding: once, as: UTF8.self), "\(text)")
                // Short placeholders may as well be secrets, and get others of their length.
                #expect(anew.count == once.count, "\(text)")
            }
        }
    }
}
