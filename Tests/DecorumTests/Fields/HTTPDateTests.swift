import Decorum
import DecorumTestSupport
import Foundation
import Testing

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
