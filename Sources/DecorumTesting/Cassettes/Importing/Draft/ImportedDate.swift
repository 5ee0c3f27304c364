import Decorum
import DecorumArchive
import Foundation

/// The dates of recorders: seconds since 1970, ISO 8601, or a date of HTTP.
enum ImportedDate {
    static func date(_ text: String) -> Date? {
        if let seconds = Double(text) { return seconds.isFinite ? Date(timeIntervalSince1970: seconds) : nil }
        return HARDate.date(text)
            ?? HTTPDate(text, at: Date(timeIntervalSince1970: 2_000_000_000))
            .map(\.date)
    }
}
