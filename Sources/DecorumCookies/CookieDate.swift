public import Foundation

/// The date in the attribute `Expires`, which is read in nearly any form (RFC 6265bis, section 5.1.1).
///
/// A time, a day of the month, a month and a year are looked for in any order. Names of days and time zones are ignored:
/// the date is in UTC.
public struct CookieDate: Sendable, Hashable {
    /// The seconds since 1970.
    public let seconds: Int64

    /// Parses a date.
    ///
    /// - Parameter text: The value of the attribute; nil where it has no date, or one that does not exist.
    public init?(_ text: String) {
        self.init(ArraySlice(text.utf8))
    }

    init?(_ text: CookieText) {
        var parts = CookieDateParts()
        for token in text.split(whereSeparator: \.isDateDelimiter) { parts.take(token) }
        guard let seconds = parts.seconds else { return nil }
        self.seconds = seconds
    }

    /// The point in time.
    public var date: Date { Date(timeIntervalSince1970: Double(seconds)) }
}

private struct CookieDateParts {
    private static let months = Array("janfebmaraprmayjunjulaugsepoctnovdec".utf8)

    private var time: [Int]?
    private var day: Int?
    private var month: Int?
    private var year: Int?

    /// Takes a token for the first part that it fits and that is not there yet.
    mutating func take(_ token: CookieText) {
        if time == nil, let time = Self.time(of: token) {
            self.time = time
        } else if day == nil, let day = Self.number(at: token, digits: 1...2) {
            self.day = day
        } else if month == nil, let month = Self.month(of: token) {
            self.month = month
        } else if year == nil, let year = Self.number(at: token, digits: 2...4) {
            self.year = year
        }
    }

    var seconds: Int64? {
        guard let time, let day, let month, var year else { return nil }
        if (70...99).contains(year) { year += 1900 }
        if (0...69).contains(year) { year += 2000 }
        let date = CivilDate(
            year: year, month: month, day: day, hour: time[0], minute: time[1], second: time[2])
        guard year >= 1601, day >= 1, day <= date.daysInMonth, time[0] <= 23, time[1] <= 59, time[2] <= 59 else {
            return nil
        }
        return date.seconds
    }

    /// The number at the start of a token; nil where it has another count of digits.
    private static func number(at token: CookieText, digits: ClosedRange<Int>) -> Int? {
        let found = token.prefix(while: \.isDigit)
        guard digits.contains(found.count) else { return nil }
        return found.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func time(of token: CookieText) -> [Int]? {
        let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard fields.count == 3, fields[0].allSatisfy(\.isDigit), fields[1].allSatisfy(\.isDigit) else { return nil }
        let numbers = fields.compactMap { number(at: $0, digits: 1...2) }
        return numbers.count == 3 ? numbers : nil
    }

    private static func month(of token: CookieText) -> Int? {
        guard token.count >= 3 else { return nil }
        let name = token.prefix(3).map { $0 | 0x20 }
        return (0..<12).first { months[($0 * 3)..<($0 * 3 + 3)].elementsEqual(name) }.map { $0 + 1 }
    }
}

extension UInt8 {
    fileprivate var isDateDelimiter: Bool {
        switch self {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }
}
