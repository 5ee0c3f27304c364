import Foundation
import HTTPTypes

/// The time for which a server asks to wait, in `Retry-After` or in the fields of a rate limit.
enum AskedWait {
    /// Returns the time that a response asks for.
    ///
    /// - Parameters:
    ///   - fields: The fields of the response.
    ///   - date: The date on which it was received.
    /// - Returns: The longest `Retry-After`; without one, the time until a used limit is renewed; nil for neither.
    static func duration(in fields: HTTPFields, at date: @autoclosure () -> Date) -> Duration? {
        if fields.contains(.retryAfter), let delay = RetryAfter.longestDelay(in: fields, at: date()) { return delay }
        return RateLimitFields.pause(in: fields, at: date())
    }

    /// The waits that comply with a time that was asked for.
    ///
    /// Clients that were given one date must not all come back in one second. So up to half of the time is added, at least
    /// 1 second and at most 20. From 40 seconds on, each second gets 5 % of the clients on average. By chance one of them
    /// gets more, such as 6.5 % of 1,000 clients: they do not know of each other, and no choice within 20 seconds is better
    /// than an even one.
    static func spread(_ asked: Duration) -> ClosedRange<Duration> {
        let asked = asked.bounded
        return asked...(asked + min(max(asked / 2, .seconds(1)), .seconds(20)))
    }
}

extension ClosedRange<Duration> {
    /// A uniform random duration.
    func random(using generator: any RandomGenerator) -> Duration {
        lowerBound + (upperBound - lowerBound) * generator.uniform()
    }
}
