/// Reads a date in one of the three formats of RFC 9110, section 5.6.7.
struct HTTPDateScanner {
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
        return [century + 100, century, century - 100]
            .compactMap { date($0 + year, month, day, time) }
            .first { $0.isAtMostFiftyYears(after: now) }
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

extension CivilDate {
    fileprivate func isAtMostFiftyYears(after now: CivilDate) -> Bool {
        var limit = now
        limit.year += 50
        return seconds <= limit.seconds
    }
}

extension ArraySlice<UInt8> {
    fileprivate func isName(_ name: [UInt8]) -> Bool {
        count == name.count && elementsEqual(name) { $0 | 0x20 == $1 | 0x20 }
    }
}
