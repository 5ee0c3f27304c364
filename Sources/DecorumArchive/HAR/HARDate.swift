import Decorum
public import Foundation

/// The dates of archives: ISO 8601, of which tools write many variants.
public enum HARDate: Sendable {
    /// Parses a date with any number of fraction digits and with any offset; without an offset, it is in UTC.
    public static func date(_ text: String) -> Date? {
        var scanner = Scanner(rest: text.utf8[...])
        guard let year = scanner.number(4), scanner.skip("-"), let month = scanner.number(2), scanner.skip("-"),
            let day = scanner.number(2)
        else { return nil }
        var civil = CivilDate(year: year, month: month, day: day)
        guard day >= 1, day <= civil.daysInMonth else { return nil }
        guard !scanner.rest.isEmpty else { return Date(timeIntervalSince1970: Double(civil.seconds)) }

        guard scanner.skip("T") || scanner.skip("t") || scanner.skip(" "), let hour = scanner.number(2),
            scanner.skip(":"), let minute = scanner.number(2), hour < 24, minute < 60
        else { return nil }
        civil.hour = hour
        civil.minute = minute
        if scanner.skip(":") {
            guard let second = scanner.number(2), second < 61 else { return nil }
            civil.second = second
        }
        let fraction = scanner.skip(".") || scanner.skip(",") ? scanner.fraction() : 0
        guard let offset = scanner.offset(), scanner.rest.isEmpty else { return nil }
        return Date(timeIntervalSince1970: Double(civil.seconds - Int64(offset)) + fraction)
    }

    /// Writes a date in UTC, to the millisecond.
    public static func text(_ date: Date) -> String {
        let range = -62_135_596_800_000.0...253_402_300_799_999.0
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        let count = Int64(milliseconds.isNaN ? 0 : min(max(milliseconds, range.lowerBound), range.upperBound))
        let seconds = count >= 0 ? count / 1000 : (count - 999) / 1000
        let civil = CivilDate(seconds: seconds)
        let day = "\(pad(civil.year, 4))-\(pad(civil.month, 2))-\(pad(civil.day, 2))"
        let time = "\(pad(civil.hour, 2)):\(pad(civil.minute, 2)):\(pad(civil.second, 2))"
        return "\(day)T\(time).\(pad(Int(count - seconds * 1000), 3))Z"
    }

    private static func pad(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private struct Scanner {
        var rest: Substring.UTF8View

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func number(_ width: Int) -> Int? {
            let digits = rest.prefix(width)
            guard digits.count == width, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            rest.removeFirst(width)
            return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }

        mutating func fraction() -> Double {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            rest.removeFirst(digits.count)
            return digits.reversed().reduce(0) { ($0 + Double($1 - 0x30)) / 10 }
        }

        /// The seconds ahead of UTC.
        mutating func offset() -> Int? {
            if rest.isEmpty || skip("Z") || skip("z") { return 0 }
            let sign = skip("-") ? -1 : 1
            guard sign < 0 || skip("+"), let hours = number(2) else { return nil }
            _ = skip(":")
            guard !rest.isEmpty else { return sign * hours * 3600 }
            return number(2).map { sign * (hours * 3600 + $0 * 60) }
        }
    }
}
