import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumCookies

/// The fields of cookies and their dates.
@Suite struct CookieParserTests {
    private func date(_ text: String) -> CookieDate? { CookieDate(ArraySlice(text.utf8)) }

    private struct DateRow: Decodable {
        let test: String
        let expected: String?
    }

    @Test(arguments: [
        ("Wed, 09 Jun 2021 10:18:14 GMT", 1_623_233_894), ("09-Jun-21 10:18:14", 1_623_233_894),
        ("10:18:14 2021 JUNE 9", 1_623_233_894), ("Thu Jan 1 00:00:00 1970", 0), ("1 jan 70 0:0:0", 0),
        ("1 jan 69 0:0:0", 3_124_224_000), ("31 dec 1999 23:59:59 PST", 946_684_799),
        ("29 feb 2000 1:2:3", 951_786_123), ("1 jan 1601 00:00:00", -11_644_473_600),
    ])
    func `A date is read in nearly any form`(row: (text: String, seconds: Int64)) {
        #expect(date(row.text)?.seconds == row.seconds)
    }

    @Test(arguments: [
        "", "yesterday", "09 Jun 2021", "10:18:14 09 Jun", "10:18 09 Jun 2021", "32 jan 2000 0:0:0",
        "30 feb 2000 0:0:0",
        "29 feb 2001 0:0:0", "0 jan 2000 0:0:0", "1 jan 1600 0:0:0", "1 jan 2000 24:0:0", "1 jan 2000 0:60:0",
        "1 jan 2000 0:0:60", "1 jan 20000 0:0:0", "1 foo 2000 0:0:0", "001 jan 2000 0:0:0", "1 jan 2000 123:0:0",
    ])
    func `A text that is no date, or one that does not exist, is refused`(text: String) {
        #expect(date(text) == nil)
    }

    @Test(
        .enabled(
            if: Fixtures.shared("vectors/cookie-dates-examples.json") != nil,
            "The further dates are not beside the checkout."),
        arguments: ["cookie-dates-examples.json", "cookie-dates-bsd-examples.json"])
    func `The dates of another suite are read`(file: String) throws {
        let url = try #require(Fixtures.shared("vectors/" + file))
        // One of the files begins with remarks, which JSON does not have.
        let text = try String(contentsOf: url, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("//") }
        let rows = try JSONDecoder().decode([DateRow].self, from: Data(text.joined(separator: "\n").utf8))
        #expect(rows.count > 10)
        for row in rows {
            let expected = row.expected.flatMap { HTTPDate($0, at: Date(timeIntervalSince1970: 0))?.seconds }
            #expect(date(row.test)?.seconds == expected, "\(row.test)")
        }
    }

    @Test func `All attributes are read`() throws {
        let cookie = try #require(
            SetCookie(
                "id=\"x\"; Domain=.Example.org; path=/a; Expires=Thu, 01 Jan 1970 00:00:09 GMT; max-age=7; Secure; "
                    + "HttpOnly; SameSite=STRICT"))
        #expect(cookie.name == "id" && cookie.value == "\"x\"")
        #expect(cookie.domain == "example.org" && cookie.path == "/a")
        #expect(cookie.expires == Date(timeIntervalSince1970: 9) && cookie.maximumAge == 7)
        #expect(cookie.isSecure && cookie.isHTTPOnly && cookie.sameSite == .strict)
    }

    @Test func `The field that a server sends is read as the same cookie`() throws {
        let generator = SeededGenerator(seed: 77)
        func pick<Value>(_ values: [Value]) -> Value { values[Int(generator.next() % UInt64(values.count))] }
        for _ in 0..<500 {
            var cookie = SetCookie(
                name: pick(["a", "__Host-id", "x.y", "!"]), value: pick(["", "1", "\"q\"", "a=b&c"]))
            cookie.domain = pick([nil, "example.org"])
            cookie.path = pick([nil, "/", "/a/b"])
            cookie.expires = pick([nil, date("09 Jun 2021 10:18:14")?.date])
            cookie.maximumAge = pick([nil, 0, 60])
            cookie.isSecure = pick([true, false])
            cookie.isHTTPOnly = pick([true, false])
            cookie.sameSite = pick([nil, .strict, .lax, SetCookie.SameSite.none])
            let field = try #require(cookie.field)
            #expect(SetCookie(field.value) == cookie)
        }
    }

    @Test(arguments: [
        ("", "v"), ("a b", "v"), ("a;", "v"), ("a=", "v"), ("ä", "v"), ("a", "v;w"), ("a", "v w"), ("a", "v\r\nX: y"),
        ("a", "\""), ("a", "é"), ("a", "v,w"), ("a\r\n", "v"),
    ])
    func `A cookie that would end its field is not sent`(row: (name: String, value: String)) {
        #expect(SetCookie(name: row.name, value: row.value).field == nil)
        var cookie = SetCookie(name: "a", value: "b")
        cookie.path = "/;Domain=evil.example"
        #expect(cookie.field == nil)
    }

    @Test func `A server reads the pairs of one field and of several`() {
        let pairs = CookiePair.all(in: " a=1;b=\"2\"; a=3 ;; c ; =;d==x")
        #expect(pairs.map(\.name) == ["a", "b", "a", "", "d"])
        #expect(pairs.map(\.value) == ["1", "\"2\"", "3", "c", "=x"])
        var fields = HTTPFields()
        for value in ["a=1", "b=2; c=3"] { fields.append(HTTPField(name: .cookie, value: value)) }
        #expect(CookiePair.all(in: fields).map(\.value) == ["1", "2", "3"])
    }

    @Test func `Descriptions and reflection show no value`() throws {
        let cookie = try #require(SetCookie("id=geheim; Domain=example.org"))
        let url = try #require(URL(string: "https://example.org/"))
        let jar = CookieJar(suffixes: .conservative)
        jar.set(cookie, from: url)
        var shown = "\(cookie) \(jar.cookies(for: url)) \(jar) \(CookiePair.all(in: "id=geheim"))"
        for value in [cookie, jar, jar.cookies(for: url), CookiePair.all(in: "id=geheim")] as [Any] {
            dump(value, to: &shown)
            shown += String(reflecting: value)
        }
        #expect(shown.contains("id") && !shown.contains("geheim"))
    }

    @Test func `Random bytes and pieces of fields neither stop the parsers nor break their limits`() {
        let generator = SeededGenerator(seed: 6265)
        let pieces = [
            "a", "=", ";", " ", "\t", "Max-Age", "Expires", "Path=/", "Domain=", ".", "org", "\"", "1", "-", "Secure",
            "SameSite=", "None", "\r\n", "\0", "é", "日", ",", "10:18:14", "jun", "9999999999999999999", ":", "2021",
        ]
        var kept = 0
        for _ in 0..<20_000 {
            let text = (0..<Int(generator.next() % 24)).map { _ in pieces[Int(generator.next() % UInt64(pieces.count))]
            }
            .joined()
            if let cookie = SetCookie(text) {
                kept += 1
                #expect(!cookie.name.isEmpty || !cookie.value.isEmpty)
                #expect(!(cookie.name + cookie.value).utf8.contains { $0 == 0x3B || $0 == 0x0D || $0 == 0 })
                #expect(cookie.path?.hasPrefix("/") ?? true)
            }
            #expect(CookiePair.all(in: text).allSatisfy { !$0.text.utf8.contains(0x3B) })
            if let date = self.date(text) { #expect((-11_644_473_600...253_402_300_799).contains(date.seconds)) }
        }
        #expect(kept > 1000)
    }
}

extension CookiePair {
    fileprivate var text: String { name + value }
}
