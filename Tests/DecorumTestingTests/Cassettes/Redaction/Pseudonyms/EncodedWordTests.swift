import Decorum
import Foundation
import Testing

@testable import DecorumTesting

struct EncodedWordTests {
    private static let texts = [
        "user:token", "user:token1", "user:token12", "user:tok\u{E9}n", "a?b>c~d??e>>f~~", #"{"user":"me","proof":1}"#,
    ]

    /// The spellings of the word for a text: in each alphabet, with and without padding, and percent-encoded.
    private static func spellings(of text: String) -> Set<String> {
        let padded = Data(text.utf8).base64EncodedString()
        let plain = padded.replacing("=", with: "")
        let forURLs = plain.replacing("+", with: "-").replacing("/", with: "_")
        return [padded, plain, forURLs, PercentCoding.encode(padded)]
    }

    private static func words(of text: String) -> [String] {
        EncodedWord.all(in: Array(text.utf8)).map { String(decoding: $0.text, as: UTF8.self) }
    }

    @Test(arguments: texts) func `A word is found in each spelling, and is written in the same one`(text: String) {
        for spelling in Self.spellings(of: text) {
            let place = Array("a=\(spelling)&b".utf8)
            #expect(Self.words(of: "a=\(spelling)&b") == [text], "\(spelling)")
            let written = EncodedWord.replacing(in: place) { $0.encoding($0.text) }
            #expect(written == place, "\(spelling)")
        }
    }

    @Test(arguments: ["%22", "Basic%20", "%3a", #""Proof:\n"#, #"\t"#, #"\u000a"#, "100%:", #"\"#, "%"])
    func `The letters of an escape in front of a word belong to none`(start: String) {
        #expect(Self.words(of: start + "dXNlcjp0b2tlbjEy") == ["user:token12"], "\(start)")
    }

    @Test func `Padding follows the length of another text`() throws {
        let longer = Array("user:longer-token".utf8)
        func written(_ word: String) -> String? {
            EncodedWord.replacing(in: Array(word.utf8)) { $0.encoding(longer) }
                .map { String(decoding: $0, as: UTF8.self) }
        }
        let plain = "dXNlcjpsb25nZXItdG9rZW4"
        #expect(written("dXNlcjp0b2tlbg==") == plain + "=")
        #expect(written("dXNlcjp0b2tlbg%3D%3D") == plain + "%3D")
        #expect(written("dXNlcjp0b2tlbg") == plain)
        #expect(written("dXNlcjp0b2tlbjEy") == plain + "=")
    }

    @Test(arguments: [
        ("/v1/dXNlcjp0b2tlbjEy/x", ["user:token12"]), ("/v1/dXNlcjp0b2tlbjEy", ["user:token12"]),
        (#"{"a":"dXNlcjp0b2tlbg==","b":"bWU6c2VjcmV0"}"#, ["user:token", "me:secret"]),
        ("name=a+dXNlcjp0b2tlbg==", ["user:token"]), ("dXNlcjph", []), ("AAECAwQFBgcICQoLDA0ODw==", []),
        ("5f4dcc3b5aa765d61d8327deb882cf990", []), ("", []),
    ])
    func `Words are found between other characters, and random bytes are none`(text: String, words: [String]) {
        #expect(Self.words(of: text) == words)
    }
}
