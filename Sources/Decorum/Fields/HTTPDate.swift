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
    /// The seconds since 1970, within the years 1 to 9999, which are those that the format can write.
    public let seconds: Int

    /// Creates a date from a point in time, whose fraction of a second is cut off.
    ///
    /// - Parameter date: The point in time; one outside of the years 1 to 9999 is moved to their start or end.
    public init(_ date: Date) {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        self.seconds = seconds.isNaN ? 0 : Int(min(max(seconds, -62_135_596_800), 253_402_300_799))
    }

    /// Parses any of the three formats: the one of today, that of RFC 850, and that of C's `asctime`.
    ///
    /// Names may be in any letter case, and the day of the week need not be the right one; all else is strict.
    ///
    /// - Parameters:
    ///   - text: The value of the field.
    ///   - now: The date of today, which a year of two digits is read by: it is at most 50 years ahead.
    public init?(_ text: String, at now: Date) {
        var scanner = HTTPDateScanner(text)
        guard let civil = scanner.date(at: CivilDate(seconds: HTTPDate(now).seconds)) else { return nil }
        self.init(Date(timeIntervalSince1970: Double(civil.seconds)))
    }

    /// The point in time.
    public var date: Date { Date(timeIntervalSince1970: Double(seconds)) }
}

extension HTTPDate: CustomStringConvertible {
    /// The date in the format of today, as in `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var description: String {
        let civil = CivilDate(seconds: seconds)
        let weekday = CivilDate.weekdays[civil.weekday].prefix(3)
        let day = "\(civil.day.padded(to: 2)) \(CivilDate.months[civil.month - 1]) \(civil.year.padded(to: 4))"
        let time = [civil.hour, civil.minute, civil.second].map { $0.padded(to: 2) }.joined(separator: ":")
        return "\(weekday), \(day) \(time) GMT"
    }
}

extension Int {
    fileprivate func padded(to width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: width - Swift.min(width, digits.count)) + digits
    }
}
