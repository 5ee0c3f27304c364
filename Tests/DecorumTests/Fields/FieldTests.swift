import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

@Suite struct FieldListTests {
    struct Members: Decodable, Sendable {
        let value: String
        let members: [String]
    }

    @Test(arguments: try Fixtures.rows("tables/lists/members.json", of: Members.self))
    func `A list is split at commas outside of quotes`(row: Members) {
        #expect(ListMembers(row.value).map(String.init) == row.members)
    }

    struct Directives: Decodable, Sendable {
        let lines: [String]
        let has: [String]
        let lacks: [String]
        let seconds: [String: Double]
    }

    @Test(arguments: try Fixtures.rows("tables/cache-control/directives.json", of: Directives.self))
    func `Directives are read over all fields, in any letter case, and outside of quoted strings`(row: Directives) {
        var fields = HTTPFields()
        for line in row.lines { fields.append(HTTPField(name: .cacheControl, value: line)) }

        let control = CacheControl(fields)

        #expect(row.has.filter { !control.contains($0) } == [])
        #expect(row.lacks.filter(control.contains) == [])
        for (name, seconds) in row.seconds { #expect(control.seconds(of: name) == seconds) }
    }

    @Test func `A directive after any text that closes no quoted string is seen`() {
        let generator = SeededGenerator(seed: 4)
        let alphabet = Array("ab=,;\\ \t\u{E9}")
        let text = {
            let length = Int(generator.next() % 12)
            return String((0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
        }
        for _ in 0..<20_000 {
            let before = text().replacing("\\", with: "")
            let unclosed = "\(before)=\"\(text()), no-store, \(text())"
            #expect(CacheControl([.cacheControl: unclosed]).contains("no-store"), "\(unclosed)")
            let reopened = "\(before)=\"\(text().replacing("\\", with: "")), no-store, x=\"y\""
            #expect(CacheControl([.cacheControl: reopened]).contains("no-store"), "\(reopened)")
        }
    }

    @Test func `Vary is read in any letter case, and a star is found at any place`() {
        #expect(Vary([.vary: "Accept, accept-LANGUAGE"]).names == [.accept, .acceptLanguage])
        #expect(!Vary([:]).isAny)
        #expect(Vary([.vary: "accept, *"]).isAny)
        #expect(Vary([.vary: "no token"]).isAny)
    }

    @Test func `Random values never crash and keep every byte that is not a separator`() {
        let generator = SeededGenerator(seed: 3)
        let alphabet = Array("ab=,;\"\\ \t\u{E9}")
        for _ in 0..<5000 {
            let length = Int(generator.next() % 30)
            let value = String((0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
            let kept = ListMembers(value).joined().filter { $0 == "a" }.count
            #expect(kept == value.filter { $0 == "a" }.count)
            _ = CacheControl([.cacheControl: value])
        }
    }
}

/// RFC 9110, section 10.2.3.
@Suite struct RetryAfterTests {
    struct Delay: Decodable, Sendable {
        let value: String
        let seconds: Int
    }

    @Test(arguments: try Fixtures.rows("tables/retry-after/valid.json", of: Delay.self))
    func `Seconds and dates give a delay`(row: Delay) throws {
        let retryAfter = try #require(RetryAfter(row.value, at: Self.now))

        #expect(retryAfter.delay(from: Self.now) == .seconds(row.seconds))
    }

    @Test(arguments: try Fixtures.rows("tables/retry-after/invalid.json", of: String.self))
    func `Other values are not parsed`(value: String) {
        #expect(RetryAfter(value, at: Self.now) == nil)
    }

    @Test func `A date in the past gives no delay`() throws {
        let retryAfter = try #require(RetryAfter("Sun, 06 Nov 1994 08:49:00 GMT", at: Self.now))

        #expect(retryAfter.delay(from: Self.now) == nil)
    }

    /// 30 seconds before the date of the RFC's examples.
    private static let now = Date(timeIntervalSince1970: 784_111_747)
}

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

/// RFC 8288, section 3, as servers use it for pages.
@Suite struct WebLinkTests {
    private func response(_ values: [String], from url: String? = "https://api.example.com/v1/items?page=2") throws
        -> Response
    {
        var response = Response(status: .ok)
        let name = try #require(HTTPField.Name("Link"))
        for value in values { response.head.headerFields.append(HTTPField(name: name, value: value)) }
        response.metadata.url = url.flatMap { URL(string: $0) }
        return response
    }

    @Test(
        arguments: [
            (
                [
                    #"<https://api.example.com/v1/items?page=3>; rel="next", <https://api.example.com/v1/items?page=9>; rel="last""#
                ],
                "https://api.example.com/v1/items?page=3"
            ),
            ([#"<?page=1>; rel="prev""#, #"<?page=3>;rel=next"#], "https://api.example.com/v1/items?page=3"),
            (
                [#"</v2/items?ids=1,2;3>; title="a, <b>; rel=\"next\""; REL = "last NEXT""#],
                "https://api.example.com/v2/items?ids=1,2;3"
            ),
            ([#"<https://b.example/>; rel="https://b.example/rel next""#], "https://b.example/"),
            ([#", , <x> ;rel=next"#], "https://api.example.com/v1/x"),
            ([#"<x>; rel=last; rel=next"#], nil), ([#"<x>; rel=next; anchor="/other""#], nil), (["<x>"], nil),
            ([], nil),
            ([#"x; rel=next"#], nil), ([#"<x; rel=next"#], nil), ([#"<x>; rel="#], nil), ([#"<x y>; rel=next"#], nil),
        ] as [([String], String?)])
    func `The next page is found`(values: [String], url: String?) throws {
        #expect(try response(values).link("next")?.absoluteString == url)
        #expect(try response(values).link("Next")?.absoluteString == url)
    }

    @Test func `A relative link in a response without a URL has none`() throws {
        #expect(try response(["<x>; rel=next"], from: nil).link("next") == nil)
        #expect(try response(["<https://a.example/>; rel=next"], from: nil).link("next") != nil)
    }

    @Test(arguments: 1...200) func `No value breaks the reading`(seed: UInt64) throws {
        let generator = SeededGenerator(seed: seed)
        let alphabet = Array(#"<>;,="\ relnxtanchor/?:"#)
        let text = String((0..<Int(generator.next() % 60)).map { _ in alphabet[Int(generator.next() % 23)] })
        let links = WebLink.links(in: try response([text]).head.headerFields)
        #expect(links.count <= text.count / 2)
    }
}

/// RFC 9110, section 5.6.7.
@Suite struct HTTPDateTests {
    struct PointInTime: Decodable, Sendable {
        let text: String
        let seconds: Int
    }

    struct Year: Decodable, Sendable {
        let text: String
        let year: String
    }

    @Test(arguments: try Fixtures.rows("tables/dates/formats.json", of: String.self))
    func `The three formats give the same date`(text: String) throws {
        let date = try #require(HTTPDate(text, at: Self.now))

        #expect(date.date == Date(timeIntervalSince1970: 784_111_777))
        #expect(date.description == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test(arguments: try Fixtures.rows("tables/dates/boundaries.json", of: PointInTime.self))
    func `A boundary date is parsed`(row: PointInTime) {
        #expect(HTTPDate(row.text, at: Self.now)?.date == Date(timeIntervalSince1970: Double(row.seconds)))
    }

    @Test(arguments: try Fixtures.rows("tables/dates/two-digit-years.json", of: Year.self))
    func `A year of two digits is at most 50 years ahead`(row: Year) throws {
        let date = try #require(HTTPDate(row.text, at: Self.now))

        #expect(date.description.contains(" \(row.year) "))
    }

    @Test(arguments: try Fixtures.rows("tables/dates/invalid.json", of: String.self))
    func `An invalid date is not parsed`(text: String) {
        #expect(HTTPDate(text, at: Self.now) == nil)
    }

    @Test func `A formatted date is parsed as the same date`() {
        let generator = SeededGenerator(seed: 9110)
        for _ in 0..<2000 {
            let date = HTTPDate(Date(timeIntervalSince1970: generator.uniform() * 315e9 - 62e9))

            #expect(HTTPDate(date.description, at: Self.now) == date)
        }
    }

    @Test(arguments: [
        (Double.nan, "Thu, 01 Jan 1970 00:00:00 GMT"), (-.infinity, "Mon, 01 Jan 0001 00:00:00 GMT"),
        (.infinity, "Fri, 31 Dec 9999 23:59:59 GMT"), (784_111_777.999, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (-0.5, "Wed, 31 Dec 1969 23:59:59 GMT"),
    ])
    func `Any point in time can be written`(seconds: Double, text: String) {
        #expect(HTTPDate(Date(timeIntervalSince1970: seconds)).description == text)
    }

    @Test func `Damaged dates are parsed or refused without a crash`() {
        let generator = SeededGenerator(seed: 850)
        let dates = ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        for round in 0..<5000 {
            var bytes = Array(dates[round % 3].utf8)
            for _ in 0...(generator.next() % 3) {
                bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: generator.next())
            }
            let text = String(decoding: bytes.prefix(Int(generator.next() % 40)), as: UTF8.self)

            let date = HTTPDate(text, at: Self.now)
            #expect(date == nil || text.utf8.count >= 24, "\(text.debugDescription)")
        }
    }

    /// 1 July 2026.
    private static let now = Date(timeIntervalSince1970: 1_782_864_000)
}
