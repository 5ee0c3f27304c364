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

    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count == 10, parts.count == 3, let year = Int(parts[0]), let month = Int(parts[1]),
            let day = Int(parts[2]), day >= 1, day <= CivilDate(year: year, month: month, day: 1).daysInMonth
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// The day's beginning, in UTC.
    var date: Date { Date(timeIntervalSince1970: Double(CivilDate(year: year, month: month, day: day).seconds)) }

    var description: String {
        [(year, 4), (month, 2), (day, 2)]
            .map { String(repeating: "0", count: max($1 - String($0).count, 0)) + String($0) }
            .joined(separator: "-")
    }
}
