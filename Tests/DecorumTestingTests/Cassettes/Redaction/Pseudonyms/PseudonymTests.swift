import Decorum
import Foundation
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
        ("aB/dE+gH7jK9mN1p", "password", "Redacted1AAAAAAA"),
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
        pseudonyms.reserve(in: Array(#"{"a":"Redacted1AAAAAAA","b":["x-__password-1__"]}"#.utf8))
        #expect(pseudonym("x7Rq2LmZ9sKd4TbV", in: pseudonyms) == "__password-2__")
        #expect(pseudonym("x7Rq2LmZ9sKd%2BTbV", in: pseudonyms) == "Redacted2AAAAAAA")
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
