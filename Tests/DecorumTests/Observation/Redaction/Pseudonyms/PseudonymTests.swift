import Decorum
import DecorumArchive
import Testing

@Suite struct PseudonymTests {
    @Test(arguments: [
        ("access_token", "__access-token-1__"), ("accessToken", "__access-token-1__"), ("APIKey", "__api-key-1__"),
        ("user[password]", "__user-password-1__"), ("X-Api-Key", "__x-api-key-1__"), ("oauth2", "__oauth2-1__"),
        ("", "__secret-1__"), ("--__--", "__secret-1__"), ("Schlüssel", "__schl-ssel-1__"),
        (String(repeating: "a", count: 5000), "__" + String(repeating: "a", count: 32) + "-1__"),
    ])
    func `A name of any spelling is made fit for every place`(name: String, expected: String) {
        let pseudonym = Pseudonyms().pseudonym(for: Array("s3cret".utf8), named: name.utf8)

        #expect(pseudonym == expected)
        #expect(Pseudonym.isPseudonym(Array(pseudonym.utf8)))
    }

    @Test func `A secret keeps its first name, and each name counts for itself`() {
        let pseudonyms = Pseudonyms()
        func pseudonym(_ secret: String, _ name: String) -> String {
            pseudonyms.pseudonym(for: Array(secret.utf8), named: name.utf8)
        }

        #expect(pseudonym("first-secret", "token") == "__token-1__")
        #expect(pseudonym("second-secret", "token") == "__token-2__")
        #expect(pseudonym("third-secret", "session") == "__session-1__")
        #expect(pseudonym("first-secret", "authorization") == "__token-1__")
        #expect(pseudonym("__token-2__", "session") == "__token-2__")
    }

    @Test func `What is short may be the same by chance under another name`() {
        let pseudonyms = Pseudonyms()

        #expect(pseudonyms.pseudonym(for: Array("1".utf8), named: "pin".utf8) == "__pin-1__")
        #expect(pseudonyms.pseudonym(for: Array("1".utf8), named: "page".utf8) == "__page-1__")
    }

    @Test func `Pseudonyms of a file are not given again`() {
        let pseudonyms = Pseudonyms()
        pseudonyms.reserve(in: Array(#"{"a":"__token-7__","b":["x__session-2___y"]}"#.utf8))

        #expect(pseudonyms.pseudonym(for: Array("first-secret".utf8), named: "token".utf8) == "__token-8__")
        #expect(pseudonyms.pseudonym(for: Array("second-secret".utf8), named: "session".utf8) == "__session-3__")
    }

    @Test(arguments: [
        ("/x?token=__token-1__&page=2", "/x?token=__secret__&page=2"),
        ("x___token-12___y", "x___secret___y"),
        ("__a-1____b-2__", "__secret____secret__"),
        ("__typename", "__typename"), ("__x__", "__x__"), ("__token-01__", "__token-01__"),
        ("__token-1_", "__token-1_"), ("__-1__", "__-1__"), ("", ""), ("_", "_"), ("__secret__", "__secret__"),
    ])
    func `Redacted texts are compared without the pseudonyms in them`(text: String, expected: String) {
        #expect(Pseudonym.erased(in: text) == expected)
        #expect(Pseudonym.erased(in: expected) == expected)
    }
}
