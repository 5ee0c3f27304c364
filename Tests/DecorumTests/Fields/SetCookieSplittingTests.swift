import DecorumTestSupport
import Testing

@testable import Decorum

@Suite struct SetCookieSplittingTests {
    struct Row: Decodable, Sendable {
        let joined: String
        let cookies: [String]
    }

    @Test(arguments: try Fixtures.rows("tables/set-cookie/joined.json", of: Row.self))
    func `A joined field is split where a cookie starts`(row: Row) {
        #expect(SetCookieSplitting.split(row.joined) == row.cookies)
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
