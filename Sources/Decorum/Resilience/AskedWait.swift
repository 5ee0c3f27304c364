import Foundation
import HTTPTypes

/// The time for which a server asks to wait, in `Retry-After` or in the fields of a rate limit.
enum AskedWait {
    /// Returns the longest `Retry-After` of a response, which was received at a date, or else the time until a used limit is
    /// renewed; nil if the server asks for no wait.
    static func duration(in fields: HTTPFields, at date: @autoclosure () -> Date) -> Duration? {
        if fields.contains(.retryAfter), let delay = RetryAfter.longestDelay(in: fields, at: date()) { return delay }
        return RateLimitFields.usedLimit(in: fields, at: date())?.renewal
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

/// The pause that a response asks for.
struct AskedPause: Equatable, Sendable {
    /// The time to wait, without the spread.
    let time: Duration
    /// Whether all requests to the origin have to wait, and not only the requests of one user.
    let isOfOrigin: Bool
    /// Whether a used rate limit causes the pause.
    let isRateLimit: Bool

    /// Reads the pause of a response that was received at a date; nil if it asks for no pause.
    init?(in response: HTTPResponse, heedsRateLimits: Bool, at date: @autoclosure () -> Date) {
        let fields = response.headerFields
        switch response.status {
        case .serviceUnavailable where fields.contains(.retryAfter):
            self.init(in: fields, isOfOrigin: true, at: date())
        // Some servers refuse with a 403 where a limit is used.
        case .tooManyRequests, .forbidden:
            self.init(in: fields, isOfOrigin: false, at: date())
        default:
            guard heedsRateLimits else { return nil }
            guard let time = RateLimitFields.usedLimit(in: fields, at: date())?.renewal else { return nil }
            self.init(time: time, isOfOrigin: false, isRateLimit: true)
        }
    }

    private init?(in fields: HTTPFields, isOfOrigin: Bool, at date: @autoclosure () -> Date) {
        guard let time = AskedWait.duration(in: fields, at: date()) else { return nil }
        let isRateLimit = RetryAfter.longestDelay(in: fields, at: date()) == nil
        self.init(time: time, isOfOrigin: isOfOrigin, isRateLimit: isRateLimit)
    }

    init(time: Duration, isOfOrigin: Bool, isRateLimit: Bool) {
        self.time = time
        self.isOfOrigin = isOfOrigin
        self.isRateLimit = isRateLimit
    }
}
