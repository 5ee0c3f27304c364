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
    /// A date before the year 1 or after the year 9999 is moved to the start or end of that range.
    public init(_ date: Date) {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        self.seconds = seconds.isNaN ? 0 : Int64(min(max(seconds, -62_135_596_800), 253_402_300_799))
    }

    /// Parses any of the three formats: the current one, that of RFC 850, and that of C's `asctime`.
    ///
    /// Names may be in any letter case, and a wrong day of the week is accepted; everything else is strict. The current date
    /// determines the century of a year with two digits: the date is at most 50 years in the future.
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

/// Reads a date in one of the three formats of RFC 9110, section 5.6.7.
private struct HTTPDateScanner {
    private static let weekdays = CivilDate.weekdays.map { Array($0.utf8) }
    private static let shortWeekdays = weekdays.map { Array($0.prefix(3)) }
    private static let months = CivilDate.months.map { Array($0.utf8) }

    private var rest: ArraySlice<UInt8>

    init(_ text: String) {
        // The longest date has 33 bytes, so longer text is not a date and is not scanned.
        rest = text.utf8.count <= 33 ? Array(text.utf8)[...] : []
    }

    mutating func date(at now: CivilDate) -> CivilDate? {
        let weekday = word()
        if Self.shortWeekdays.contains(where: { weekday.isName($0) }) {
            return skip(", ") ? preferredDate() : asctimeDate()
        }
        guard Self.weekdays.contains(where: { weekday.isName($0) }) else { return nil }
        return rfc850Date(at: now)
    }

    // Sun, 06 Nov 1994 08:49:37 GMT
    private mutating func preferredDate() -> CivilDate? {
        guard let day = number(2), skip(" "), let month = month(), skip(" "), let year = number(4), skip(" "),
            let time = time(), skipZone()
        else { return nil }
        return date(year, month, day, time)
    }

    // Sunday, 06-Nov-94 08:49:37 GMT
    private mutating func rfc850Date(at now: CivilDate) -> CivilDate? {
        guard skip(", "), let day = number(2), skip("-"), let month = month(), skip("-"), let year = number(2),
            skip(" "), let time = time(), skipZone()
        else { return nil }
        let century = now.year / 100 * 100
        var limit = now
        limit.year += 50
        return [century + 100, century, century - 100]
            .compactMap { date($0 + year, month, day, time) }
            .first { $0.seconds <= limit.seconds }
    }

    // Sun Nov  6 08:49:37 1994
    private mutating func asctimeDate() -> CivilDate? {
        guard skip(" "), let month = month(), skip(" "), let day = skip(" ") ? number(1) : number(2), skip(" "),
            let time = time(), skip(" "), let year = number(4)
        else { return nil }
        return date(year, month, day, time)
    }

    private func date(_ year: Int, _ month: Int, _ day: Int, _ time: (Int, Int, Int)) -> CivilDate? {
        let date = CivilDate(year: year, month: month, day: day, hour: time.0, minute: time.1, second: time.2)
        return rest.isEmpty && year > 0 && (1...max(1, date.daysInMonth)).contains(day) ? date : nil
    }

    private mutating func time() -> (Int, Int, Int)? {
        guard let hour = number(2), hour < 24, skip(":"), let minute = number(2), minute < 60, skip(":"),
            let second = number(2), second <= 60
        else { return nil }
        return (hour, minute, second)
    }

    private mutating func month() -> Int? {
        let name = word()
        return Self.months.firstIndex { name.isName($0) }.map { $0 + 1 }
    }

    private mutating func number(_ width: Int) -> Int? {
        let digits = rest.prefix(width)
        guard digits.count == width, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(width)
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private mutating func word() -> ArraySlice<UInt8> {
        let letters = rest.prefix { (0x61...0x7A).contains($0 | 0x20) }
        rest = rest.dropFirst(letters.count)
        return letters
    }

    private mutating func skipZone() -> Bool {
        skip(" ") && word().isName(Array("GMT".utf8))
    }

    private mutating func skip(_ literal: String) -> Bool {
        guard rest.starts(with: literal.utf8) else { return false }
        rest = rest.dropFirst(literal.utf8.count)
        return true
    }
}

extension ArraySlice<UInt8> {
    fileprivate func isName(_ name: [UInt8]) -> Bool {
        count == name.count && elementsEqual(name) { $0 | 0x20 == $1 | 0x20 }
    }
}

/// A date and time of the Gregorian calendar in UTC, computed without the calendars of the system.
///
/// Impossible dates, such as the 30th of February, are accepted: to detect them, compare ``day`` with ``daysInMonth``.
package struct CivilDate: Sendable, Hashable {
    static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static let daysPerEra: Int64 = 146_097
    private static let secondsPerDay: Int64 = 86_400

    /// The year; 0 is the year before the year 1.
    package var year: Int
    /// The month and the day of the month, from 1.
    package var month, day: Int
    /// The time; the second 60 is a leap second.
    package var hour, minute, second: Int

    package init(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// The number of days in the month; 0 for a month that does not exist.
    package var daysInMonth: Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        case 1...12: 31
        default: 0
        }
    }

    /// The day of the week, from Sunday as 0.
    var weekday: Int { Int(((daysSince1970 + 4) % 7 + 7) % 7) }

    /// The seconds since 1970; a leap second counts as the second after it.
    package var seconds: Int64 {
        daysSince1970 * Self.secondsPerDay + Int64(hour * 3600 + minute * 60 + second)
    }

    // Years are counted from March, so that the leap day is the last day of a year; an era is 400 years.
    private var daysSince1970: Int64 {
        let marchYear = Int64(month <= 2 ? year - 1 : year)
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + Int64(dayOfYear)
        return era * Self.daysPerEra + dayOfEra - 719_468
    }

    /// The date of a number of seconds since 1970, which may be negative.
    package init(seconds: Int64) {
        let secondOfDay = Int((seconds % Self.secondsPerDay + Self.secondsPerDay) % Self.secondsPerDay)
        let days = (seconds - Int64(secondOfDay)) / Self.secondsPerDay + 719_468
        let era = (days >= 0 ? days : days - Self.daysPerEra + 1) / Self.daysPerEra
        let dayOfEra = days - era * Self.daysPerEra
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = Int(dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100))
        let marchMonth = (5 * dayOfYear + 2) / 153

        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = Int(clamping: yearOfEra + era * 400 + (month <= 2 ? 1 : 0))
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        hour = secondOfDay / 3600
        minute = secondOfDay % 3600 / 60
        second = secondOfDay % 60
    }
}
