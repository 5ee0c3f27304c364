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

    /// Returns the longest wait that the fields of a response ask for.
    ///
    /// - Parameters:
    ///   - fields: The fields of the response.
    ///   - now: The date on which it was received.
    /// - Returns: The wait; nil where they ask for none.
    package static func longestDelay(in fields: HTTPFields, at now: Date) -> Duration? {
        let date = fields.serverDate(at: now)
        return fields[values: .retryAfter].compactMap { RetryAfter($0, at: date)?.delay(from: date) }.max()
    }
}

extension HTTPFields {
    /// The date at the server when a response arrived, by its `Date` and `Age`, so that a clock of the client that is wrong
    /// changes no time that the server gives as a date; without `Date`, that of the client.
    func serverDate(at now: Date) -> Date {
        guard let sent = firstValue(of: .date).flatMap({ HTTPDate($0, at: now) }) else { return now }
        return sent.date + (age ?? 0)
    }

    /// The seconds in `Age`; of several values, the first.
    var age: Double? {
        firstValue(of: .age).flatMap { value in
            var members = ListMembers(value)
            return members.next().flatMap { DeltaSeconds.parse($0) }
        }
    }
}
