import Testing

@testable import Decorum

@Suite struct SetCookieSplittingTests {
    static let rows: [(joined: String, cookies: [String])] = [
        ("", [""]),
        ("a=1", ["a=1"]),
        ("a=1, b=2", ["a=1", "b=2"]),
        ("a=1,b=2", ["a=1", "b=2"]),
        ("a=1,\t b=2", ["a=1", "b=2"]),
        ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", ["a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"]),
        (
            "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/, b=2; Expires=Fri, 02 Jan 1970 00:00:00 GMT, c=3",
            [
                "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/", "b=2; Expires=Fri, 02 Jan 1970 00:00:00 GMT",
                "c=3",
            ]
        ),
        ("a=\"x, y\", b=2", ["a=\"x, y\"", "b=2"]),
        ("a=1,, b=2", ["a=1,", "b=2"]),
        ("a=1,", ["a=1,"]),
        (",", [","]),
        ("a=1, =2", ["a=1, =2"]),
        ("a=\u{e9}, b=\u{e9}", ["a=\u{e9}", "b=\u{e9}"]),
        ("a=1, b", ["a=1, b"]),
        // This value cannot be distinguished from two cookies.
        ("a=x, b=y; Path=/", ["a=x", "b=y; Path=/"]),
    ]

    @Test(arguments: rows)
    func `A joined field is split where a cookie starts`(joined: String, cookies: [String]) {
        #expect(SetCookieSplitting.split(joined) == cookies)
    }

    @Test func `Cookies without commas survive being joined`() {
        let generator = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let cookies = (0...generator.next() % 5).map { _ in
                "n\(generator.next() % 100)=\(generator.text(of: "ab=;\" /%\u{e9}", upTo: 8))x"
            }
            #expect(SetCookieSplitting.split(cookies.joined(separator: ", ")) == cookies)
        }
    }

    @Test func `Hostile text loses only commas and blanks`() {
        let generator = SeededGenerator(seed: 2)
        for _ in 0..<5000 {
            let text = generator.text(of: "a=,; \t\u{0}\"\u{1F36A}", upTo: 24)
            let parts = SetCookieSplitting.split(text)
            #expect(!parts.isEmpty)
            #expect(parts.joined().filter(isContent) == text.filter(isContent))
        }
    }

    private func isContent(_ character: Character) -> Bool {
        !", \t".contains(character)
    }
}

extension SeededGenerator {
    fileprivate func text(of alphabet: String, upTo length: UInt64) -> String {
        let characters = Array(alphabet)
        return String((0..<next() % (length + 1)).map { _ in characters[Int(next() % UInt64(characters.count))] })
    }
}
