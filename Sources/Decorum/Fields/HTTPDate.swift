public import Foundation

/// A date in a field, to the second: the value of `Date`, `Last-Modified`, `Expires` or `Retry-After`.
///
/// ```swift
/// let modified = HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT", at: clock.date)
/// request.head.headerFields[.ifModifiedSince] = modified?.description
/// ```
///
/// See RFC 9110, section 5.6.7.
public struct HTTPDate: Sendable, Hashable {
    /// The seconds since 1970, within the years 1 to 9999, which the format can express.
    public let seconds: Int64

    /// Creates a date from a point in time, whose fraction of a second is cut off.
    ///
    /// - Parameter date: The point in time; a date before the year 1 or after the year 9999 is moved to the start or
    ///   end of that range.
    public init(_ date: Date) {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        self.seconds = seconds.isNaN ? 0 : Int64(min(max(seconds, -62_135_596_800), 253_402_300_799))
    }

    /// Parses any of the three formats: the current one, that of RFC 850, and that of C's `asctime`.
    ///
    /// Names may be in any letter case, and a wrong day of the week is accepted; everything else is strict.
    ///
    /// - Parameters:
    ///   - text: The value of the field.
    ///   - now: The current date, which determines the century of a year with two digits: the date is at most 50 years
    ///     in the future.
    public init?(_ text: String, at now: Date) {
        var scanner = HTTPDateScanner(text)
        guard let civil = scanner.date(at: CivilDate(seconds: HTTPDate(now).seconds)) else { return nil }
        self.init(Date(timeIntervalSince1970: Double(civil.seconds)))
    }

    /// The point in time.
    public var date: Date { Date(timeIntervalSince1970: Double(seconds)) }
}

extension HTTPDate: CustomStringConvertible {
    /// The date in the current format, as in `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var description: String {
        let civil = CivilDate(seconds: seconds)
        // Joining texts takes several times as long as writing bytes.
        var text: [UInt8] = []
        text.reserveCapacity(29)
        text += CivilDate.weekdays[civil.weekday].utf8.prefix(3)
        text += ", ".utf8
        text.write(civil.day, digits: 2)
        text += " \(CivilDate.months[civil.month - 1]) ".utf8
        text.write(civil.year, digits: 4)
        for (separator, number) in [(" ", civil.hour), (":", civil.minute), (":", civil.second)] {
            text += separator.utf8
            text.write(number, digits: 2)
        }
        text += " GMT".utf8
        return String(decoding: text, as: UTF8.self)
    }
}

extension [UInt8] {
    fileprivate mutating func write(_ number: Int, digits: Int) {
        if digits > 1 { write(number / 10, digits: digits - 1) }
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}
