import Decorum
import Foundation

/// The day of a recording, as in `2026-11-20`; a time of day would change the file each time.
struct RecordedDay: Hashable, CustomStringConvertible {
    private let year: Int
    private let month: Int
    private let day: Int

    init(_ date: Date) {
        let civil = CivilDate(seconds: HTTPDate(date).seconds)
        (year, month, day) = (civil.year, civil.month, civil.day)
    }

    /// Creates the day that the bytes of a text such as `2026-11-20` name.
    ///
    /// The bytes are read as they are, since a text and its parts would cost a tenth of playing the recording.
    init?(_ text: ArraySlice<UInt8>) {
        let dash = UInt8(ascii: "-")
        guard text.count == 10, text[text.startIndex + 4] == dash, text[text.startIndex + 7] == dash,
            let year = Self.number(text.prefix(4)), let month = Self.number(text.dropFirst(5).prefix(2)),
            let day = Self.number(text.suffix(2)), day >= 1,
            day <= CivilDate(year: year, month: month, day: 1).daysInMonth
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var number = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return number
    }

    /// The day's beginning, in UTC.
    var date: Date { Date(timeIntervalSince1970: Double(CivilDate(year: year, month: month, day: day).seconds)) }

    var description: String {
        [(year, 4), (month, 2), (day, 2)]
            .map { String(repeating: "0", count: max($1 - String($0).count, 0)) + String($0) }
            .joined(separator: "-")
    }
}
