public import Foundation
import HTTPTypes

/// How long a server asks to wait before the next request: a number of seconds, or a date.
///
/// See RFC 9110, section 10.2.3.
public enum RetryAfter: Sendable, Hashable {
    /// A time to wait after the response was received.
    case delay(Duration)
    /// A point in time to wait for.
    case date(HTTPDate)

    /// Parses the value of a `Retry-After` field.
    ///
    /// - Parameters:
    ///   - value: The value; the result is nil for a negative number, a fraction, and text that is not a date.
    ///   - now: The current date, which determines the century of a date whose year has two digits.
    public init?(_ value: String, at now: Date) {
        guard !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            guard let date = HTTPDate(value, at: now) else { return nil }
            self = .date(date)
            return
        }
        // A number too large for a clock counts as 2³¹ seconds (RFC 9111, section 1.2.2).
        self = .delay(.seconds(min(Int64(value) ?? .max, 1 << 31)))
    }

    /// Returns how long to wait.
    ///
    /// - Parameter now: The date on which the response was received.
    /// - Returns: The time to wait; nil for a date in the past, which only shows that the clocks differ.
    public func delay(from now: Date) -> Duration? {
        switch self {
        case .delay(let delay):
            return delay
        case .date(let date):
            let seconds = date.date.timeIntervalSince(now)
            return seconds > 0 ? .seconds(min(seconds, 0x1p31)) : nil
        }
    }

    /// The longest wait that the fields of a response ask for; nil where they ask for none.
    static func longestDelay(in fields: HTTPFields, at now: Date) -> Duration? {
        fields[values: .retryAfter].compactMap { RetryAfter($0, at: now)?.delay(from: now) }.max()
    }
}
