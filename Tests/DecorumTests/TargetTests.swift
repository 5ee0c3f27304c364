import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import Decorum

/// RFC 3986, section 5.4.
@Suite struct TargetTests {
    struct Example: Decodable, Sendable {
        let reference: String
        let expected: String
    }

    struct OtherExample: Decodable, Sendable {
        let reference: String
        let base: String
        let expected: String
    }

    @Test(arguments: try Fixtures.rows("tables/references/normal.json", of: Example.self))
    func `A normal example resolves as in section 5_4_1`(row: Example) throws {
        #expect(try Target.resolve(row.reference, against: Target(Self.base)).text == row.expected)
    }

    @Test(arguments: try Fixtures.rows("tables/references/abnormal.json", of: Example.self))
    func `An abnormal example resolves as in section 5_4_2`(row: Example) throws {
        #expect(try Target.resolve(row.reference, against: Target(Self.base)).text == row.expected)
    }

    @Test(arguments: try Fixtures.rows("tables/references/others.json", of: OtherExample.self))
    func `A reference outside of the RFC's table resolves by its rules`(row: OtherExample) throws {
        let base = try #require(URL(string: row.base))

        #expect(try Target.resolve(row.reference, against: base).text == row.expected)
    }

    @Test func `No reference causes a crash, or changes the origin without naming one`() throws {
        let base = try Target(Self.base)
        let generator = SeededGenerator(seed: 3986)
        for _ in 0..<2000 {
            let reference = Self.hostileText(from: generator)
            guard let target = try? Target.resolve(reference, against: base) else { continue }
            if !reference.contains(":"), !reference.contains("//") {
                #expect(target.scheme == "http" && target.authority == "a", "\(reference.debugDescription)")
                #expect(target.path.hasPrefix("/"), "\(reference.debugDescription)")
            }
        }
    }

    private static let base = "http://a/b/c/d;p?q"

    private static func hostileText(from generator: some RandomGenerator) -> String {
        let alphabet = Array("/.?#:;@%[]\\ ab0\u{0}\r\n\u{7F}ü\u{202E}-_~")
        let length = Int(generator.next() % 24)
        return String((0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
    }
}

extension Target {
    fileprivate var text: String {
        let scheme = scheme.map { $0 + ":" } ?? ""
        let authority = authority.map { "//" + $0 } ?? ""
        return scheme + authority + path + (fragment.map { "#" + $0 } ?? "")
    }
}
