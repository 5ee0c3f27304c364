import DecorumTesting
import Foundation
import Testing

@testable import Decorum

/// RFC 3986, section 5.4.
@Suite struct TargetTests {
    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
        (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
        ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
        ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
        ("../../g", "http://a/g"),
    ])
    func `A normal example resolves as in section 5_4_1`(reference: String, expected: String) throws {
        #expect(try Target.resolve(reference, against: Target(Self.base)).text == expected)
    }

    @Test(arguments: [
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
    ])
    func `An abnormal example resolves as in section 5_4_2`(reference: String, expected: String) throws {
        #expect(try Target.resolve(reference, against: Target(Self.base)).text == expected)
    }

    @Test(arguments: [
        ("g", "http://a", "http://a/g"), ("?y", "http://a", "http://a/?y"), ("../g", "http://a/?x=/b/c", "http://a/g"),
        ("g//h", "http://a/b//c", "http://a/b//g//h"), ("..", "http://a/b//c", "http://a/b/"),
        ("/ü?ö", "http://a/", "http://a/%C3%BC?%C3%B6"),
        ("\\\\b\\c", "http://a/", "http://a/%5C%5Cb%5Cc"), ("HTTPS://B/X", "http://a/", "https://b/X"),
    ])
    func `A reference outside of the RFC's table resolves by its rules`(
        reference: String, base: String, expected: String
    ) throws {
        let base = try #require(URL(string: base))

        #expect(try Target.resolve(reference, against: base).text == expected)
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
