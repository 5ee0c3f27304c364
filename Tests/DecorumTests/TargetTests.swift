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

    @Test(
        arguments: try ["normal", "abnormal"].flatMap { name in
            try Fixtures.rows("tables/references/\(name).json", of: Example.self)
        })
    func `An example resolves as in sections 5_4_1 and 5_4_2`(row: Example) throws {
        #expect(try Target.resolve(row.reference, against: Target(Self.base)).text == row.expected)
    }

    @Test(arguments: try Fixtures.rows("tables/references/others.json", of: OtherExample.self))
    func `A reference outside of the RFC's table resolves by its rules`(row: OtherExample) throws {
        let base = try #require(URL(string: row.base))

        #expect(try Target.resolve(row.reference, against: base).text == row.expected)
    }

    @Test func `A reference that a server gives has a bound, and its dot segments are removed up to there`() throws {
        let base = try Target(Self.base)
        let steps = String(repeating: "x/../", count: (1 << 16) / 5)
        #expect(try Target.resolve(given: steps + "g", against: base).text == "http://a/b/c/g")
        #expect(throws: InvalidRequestError.self) { try Target.resolve(given: steps + "long", against: base) }

        let response = HTTPResponse(status: .found, headerFields: [.location: steps + "long"])
        let request = try Request.get(Self.base)
        let url = try #require(URL(string: Self.base))
        #expect(
            RedirectionDecision.after(response, to: request, at: url, policy: .standard, secretFields: [])
                == .refuse(.invalidLocation))
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

    /// A plain URL is split without a parser, so its parts have to be those that Foundation's parser finds.
    @Test func `A URL without a parser has the parts that a parser finds`() throws {
        let generator = SeededGenerator(seed: 3987)
        var plain = 0
        for _ in 0..<5000 {
            let text =
                ["http://", "https://"][Int(generator.next() % 2)] + Self.text(of: Self.plainParts, from: generator)
            guard PlainURL(text) != nil else { continue }
            plain += 1
            let url = try #require(URL(string: text), "\(text.debugDescription)")
            #expect(try Target(text) == Target(url), "\(text.debugDescription)")
        }
        #expect(plain > 1000)
    }

    /// A plain reference is put behind the folder of a base without a parser, so that has to be its resolution.
    @Test func `A reference without a parser is resolved as by a parser`() throws {
        let generator = SeededGenerator(seed: 3988)
        let base = try BaseURL("http://a/b/./c/../d;p")
        let target = try Target("http://a/b/d;p")
        var plain = 0
        for _ in 0..<5000 {
            let text = Self.text(of: Self.plainParts, from: generator)
            guard PlainReference(text) != nil else { continue }
            plain += 1
            var request = Request(head: HTTPRequest(method: .get, scheme: nil, authority: nil, path: text))
            try base.resolve(&request)
            let url = try #require(URL(string: text), "\(text.debugDescription)")
            #expect(url.scheme == nil && url.host == nil, "\(text.debugDescription)")
            let parsed = try Target.resolve(url.relativeString, against: target)
            #expect(request.head.path == parsed.path, "\(text.debugDescription)")
            #expect(try Target(text) == Target(url), "\(text.debugDescription)")
        }
        #expect(plain > 1000)
    }

    @Test(arguments: [
        "", ".", "..", "./a", "../a", "/.", "/a/../b", "a/..", "a/.b", "//a", "?a", "#a", "*", "a:b", "a:/b", "a#b",
        "%", "a%2",
        "a%2g", "a b", "ü", "\\", "[a]",
    ])
    func `Another reference needs a parser`(text: String) {
        #expect(PlainReference(text) == nil)
    }

    @Test(arguments: [
        "http://", "http:///", "https://A/", "HTTP://a/", "http://a:b@c/", "http://a/%", "http://a/%2", "http://a/%2g",
        "http://a/ ", "http://a/ü", "http://a/#b#c", "http://a/\\b", "http://a/[b]", "http://a/\"", "http://a\\b",
        "http://a:8x/", "ftp://a/", "http://[::1]/", "http://a%41/", "http:/a", "",
    ])
    func `Another URL needs a parser`(text: String) {
        #expect(PlainURL(text) == nil)
    }

    private static let base = "http://a/b/c/d;p?q"
    private static let plainParts = [
        "a", "z", "0", "9", "-", ".", ":", "/", "?", "#", "%20", "%aF", "~", "!", "$", "&", "'", "(", ")", "*", "+",
        ",",
        ";", "=", "@", "_", "A", "..", "//", ":80",
    ]

    private static func text(of parts: [String], from generator: some RandomGenerator) -> String {
        let host = "h" + (generator.next() % 2 == 0 ? "" : ":8080")
        return host
            + (0..<Int(generator.next() % 12)).map { _ in parts[Int(generator.next() % UInt64(parts.count))] }
            .joined()
    }

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
