import Decorum
import Foundation
import Testing

@testable import DecorumTesting

/// The text in place of a secret keeps its format.
@Suite struct PseudonymTests {
    private func pseudonym(_ secret: String, _ name: String = "password", in pseudonyms: Pseudonyms = Pseudonyms())
        -> String
    {
        SecretRewriting(.standard, by: pseudonyms).applied(toURL: "?\(name)=\(secret)").replacing("?\(name)=", with: "")
    }

    @Test(arguments: [
        ("hunter2", "xq1aaaa"), ("hunterxx", "xqcaaaaa"), ("HUNTER2", "XQ3AAAA"), ("Hunter2", "Xq1AAAA"),
        ("correct-horse-1", "xqcaaaa-aaaaa-1"),
        ("abc", "aac"), ("ab1", "aa1"), ("x", "c"), ("4821", "1001"), ("123456", "101001"),
        ("4111111111111111", "1010101010101001"), ("x7rq2lmz9skd4tbvw8", "redacted1aaaaaaaaa"),
        ("ghp_x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o", "aaa_Redacted1AAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        ("5f4dcc3b5aa765d61d8327deb882cf99", "dec0de1aaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("5F4DCC3B5AA765D61D8327DEB882CF99", "DEC0DE1AAAAAAAAAAAAAAAAAAAAAAAAA"),
        ("3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d", "aaaaaaaa-aaaa-aaaa-aaaa-dec0de1aaaaa"),
        ("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "REDACTED3AAAAAAAAAAAAAAAAAAAAAAA"),
        ("ya29.a0AfH6SMBx7Rq2LmZ9s", "aaaa.Redacted1AAAAAAAAAA"),
        ("sk-live-aB3_dE5-gH7jK9mN1pQ3", "aa-aaaa-Redacted1AAAAAAAAAAA"),
        ("123456:ABC-DEF1234ghIkl", "AAAAAA:Redacted1AAAAAAA"),
        ("aB3dE5gH7jK9mN1pQ3sT5w==", "Redacted1AAAAAAAAAAAAA=="),
        ("p@ss!wörd", "redacted1"), ("ada@example.com", "aaa@xqcaaaa.aaa"),
        ("grace.hopper-2@mail.example2.org", "aaaaa.aaaaaa-1@aaaa.xq1aaaaa.aaa"),
    ])
    func `The length, the alphabet and the separators stay`(secret: String, expected: String) {
        let text = pseudonym(secret)
        #expect(expected == "redacted1" || text == expected)
        #expect(text.count == secret.count)
        // Fewer characters have no room for a mark, and a secret may have the same form.
        let isMarked = !secret.utf8.allSatisfy(\.isDigit) && secret.count >= 6 || secret.count >= 12
        #expect(Pseudonym.isPseudonym(text.utf8) == isMarked)
        #expect((pseudonym(text) == text) == isMarked)
    }

    @Test(arguments: [
        "3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d", "12345678-5d4a-4b6f-9e7d-2a1c0b9f8e7d",
        "3f2b8c1e-1234-4567-9876-120934875610", "abcdefab-cdef-abcd-efab-cdefabcdefab",
        "12345678-1234-4567-8901-123456789012",
    ])
    func `A UUID has the same placeholder, whichever digits its groups have by chance`(uuid: String) {
        func encoded(_ json: String) -> String {
            Data(json.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        func token(_ uuid: String) -> String {
            encoded(#"{"alg":"HS256"}"#) + "." + encoded(#"{"jti":"\#(uuid)"}"#) + ".c2lnbmF0dXJlc2lnbmF0dXJl"
        }
        #expect(pseudonym(uuid) == "aaaaaaaa-aaaa-aaaa-aaaa-dec0de1aaaaa")
        #expect(pseudonym(uuid.uppercased()).lowercased() == "aaaaaaaa-aaaa-aaaa-aaaa-dec0de1aaaaa")
        #expect(Pseudonym.isPseudonym(pseudonym(uuid).utf8))
        #expect(
            pseudonym(token(uuid), "access_token")
                == pseudonym(token("0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d"), "access_token"))
    }

    @Test(arguments: ["1001", "1234", "10234", "101234", "acd", "ab1", "c", "1010101"])
    func `A secret in the form of a short placeholder is replaced all the same`(secret: String) {
        let pseudonyms = Pseudonyms()
        let text = pseudonym(secret, in: pseudonyms)
        #expect(text != secret)
        #expect(text.count == secret.count)
        #expect(pseudonym(text, in: pseudonyms) == text)
    }

    @Test(arguments: [
        "hunter2", "x7Rq2LmZ9sKd4TbV", "5f4dcc3b5aa765d61d8327deb882cf99", "JBSWY3DPEHPK3PXP", "correcthorse",
    ])
    func `Each secret of a format has a pseudonym of its own, which is recognized`(secret: String) {
        let pseudonyms = Pseudonyms()
        var texts: Set<String> = []
        for number in 0..<200 {
            let letters = String(secret.dropLast(2)) + String(number + 500, radix: 36).suffix(2)
            let text = pseudonym(
                secret.contains { $0.isNumber } ? letters : secret, "k\(number)_password", in: pseudonyms)
            texts.insert(text)
            #expect(Pseudonym.isPseudonym(text.utf8), "\(text)")
            #expect(Pseudonym.erased(in: "/a/\(text)/b") == "/a/__secret__/b", "\(text)")
        }
        #expect(texts.count > 100 || secret == "correcthorse")
    }

    @Test func `A secret has one pseudonym, and a short one has one for each name`() {
        let pseudonyms = Pseudonyms()
        #expect(pseudonym("first-secret", in: pseudonyms) == pseudonym("first-secret", "client_secret", in: pseudonyms))
        #expect(pseudonym("other-secret", in: pseudonyms) != pseudonym("first-secret", in: pseudonyms))
        #expect(pseudonym("zz1", in: pseudonyms) != pseudonym("zz1", "pass", in: pseudonyms))
    }

    @Test func `Pseudonyms of a file are not assigned again`() {
        let pseudonyms = Pseudonyms()
        pseudonyms.reserve(in: Array(#"{"a":"Redacted1AAAAAAA","b":["x-Redacted2AAAAAAA"]}"#.utf8))
        #expect(pseudonym("x7Rq2LmZ9sKd4TbV", in: pseudonyms) == "Redacted3AAAAAAA")
        #expect(pseudonym("y7Rq2LmZ9sKd4TbV", in: pseudonyms) == "Redacted4AAAAAAA")
    }

    @Test(arguments: [
        ("/x?token=Redacted1AAAAAAA&page=2", "/x?token=__secret__&page=2"),
        ("/botAAAAAA:AAA-Redacted1AAA/me", "/bot__secret__/me"), ("/botaaa_xq1aaaa/me", "/bot__secret__/me"),
        ("aaaaaaaa-aaaa-4aaa-aaaa-dec0de1aaaaa.", "__secret__."), ("Redacted1AAAA%3D%3D&", "__secret__&"),
        ("1010101010101001", "__secret__"), ("xq1aaaa xq2aaaa", "__secret__ __secret__"),
        ("x___token-12___y", "x___secret___y"), ("__a-1____b-2__", "__secret____secret__"),
        ("__typename", "__typename"), ("__x__", "__x__"), ("__token-01__", "__token-01__"),
        ("was redacted by 2 people", "was redacted by 2 people"), ("REDACTED", "REDACTED"), ("dec01", "dec01"),
        ("101001", "101001"), ("1000000000000001", "1000000000000001"), ("xq1aaaab", "xq1aaaab"),
        ("decorated", "decorated"), ("", ""), ("_", "_"), ("__secret__", "__secret__"),
    ])
    func `Redacted texts are compared without the pseudonyms in them`(text: String, expected: String) {
        #expect(Pseudonym.erased(in: text) == expected)
        #expect(Pseudonym.erased(in: expected) == expected)
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
            var text = String(part).replacing("-", with: "+").replacing("_", with: "/")
            text += String(repeating: "=", count: (4 - text.count % 4) % 4)
            let data = try #require(Data(base64Encoded: text))
            return try #require(try JSONSerialization.jsonObject(with: data) as? NSDictionary)
        }
        #expect(try object(parts[0]) == ["alg": "HS256", "typ": "JWT", "kid": "k1"])
        let masked = try object(parts[1])
        #expect(Set(masked.allKeys.compactMap { $0 as? String }) == ["sub", "name", "exp", "iat", "aud", "roles"])
        #expect(masked["aud"] as? String == "app")
        #expect(masked["exp"] as? Int == 4_102_444_800)
        #expect((masked["sub"] as? String)?.count == "user-4821".count)
        for part in ["4821", "Doe", "admin7"] { #expect(!"\(masked)".contains(part)) }
        #expect(!text.contains("eyJ"))
        #expect(TokenSearch.tokens(in: Array(text.utf8)).isEmpty)
        #expect(Pseudonym.isPseudonym(text.utf8))
        #expect(Pseudonym.erased(in: "a \(text) b") == "a __secret__ b")
        #expect(pseudonym(text, "access_token") == text)
    }
}
