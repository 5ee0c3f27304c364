import Decorum
import Foundation
import Testing

/// RFC 9110, section 5.6.7.
@Suite struct HTTPDateTests {
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "sun, 06 NOV 1994 08:49:37 GMT", "Mon, 06 Nov 1994 08:49:37 GMT",
    ])
    func `The three formats give the same date`(text: String) throws {
        let date = try #require(HTTPDate(text, at: Self.now))

        #expect(date.date == Date(timeIntervalSince1970: 784_111_777))
        #expect(date.description == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
        ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Fri, 30 Sep 1996 00:00:00 GMT", 844_041_600),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Wed Nov 16 08:49:37 1994", 784_975_777),
    ])
    func `A boundary date is parsed`(text: String, seconds: Int) {
        #expect(HTTPDate(text, at: Self.now)?.date == Date(timeIntervalSince1970: Double(seconds)))
    }

    @Test(arguments: [
        ("Wednesday, 01-Jul-26 00:00:00 GMT", "2026"), ("Wednesday, 01-Jul-76 00:00:00 GMT", "2076"),
        ("Thursday, 02-Jul-76 00:00:00 GMT", "1976"), ("Friday, 01-Jan-99 00:00:00 GMT", "1999"),
        ("Saturday, 01-Jan-00 00:00:00 GMT", "2000"), ("Tuesday, 29-Feb-00 00:00:00 GMT", "2000"),
    ])
    func `A year of two digits is at most 50 years ahead`(text: String, year: String) throws {
        let date = try #require(HTTPDate(text, at: Self.now))

        #expect(date.description.contains(" \(year) "))
    }

    @Test func `At the end of a century a year of two digits is in the next one`() throws {
        let now = Date(timeIntervalSince1970: 946_684_799)
        let date = try #require(HTTPDate("Friday, 01-Jan-10 00:00:00 GMT", at: now))

        #expect(date.description == "Fri, 01 Jan 2010 00:00:00 GMT")
    }

    @Test(arguments: [
        "", " ", "0", "Sun", "Sun,", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT", "Sun, 06 Noc 1994 08:49:37 GMT",
        "Son, 06 Nov 1994 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 06 1994 08:49:37", "Sun Nov 6 08:49:37 1994",
        "1994-11-06T08:49:37Z", "784111777", "Sun, 06 Nov 1994 08:49:37 GMT\u{0}", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
    ])
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
