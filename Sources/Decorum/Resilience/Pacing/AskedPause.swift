import Foundation
import HTTPTypes

/// The pause that a response asks for.
struct AskedPause: Equatable, Sendable {
    /// The time to wait, without the spread.
    let time: Duration
    /// Whether all requests to the origin have to wait, and not only those of one user.
    let isOfOrigin: Bool
    /// Whether the time is that of a used rate limit.
    let isRateLimit: Bool

    /// Reads the pause of a response that was received at a date; nil where it asks for none.
    init?(in response: HTTPResponse, heedsRateLimits: Bool, at date: @autoclosure () -> Date) {
        let fields = response.headerFields
        switch response.status {
        case .serviceUnavailable where fields.contains(.retryAfter):
            self.init(in: fields, isOfOrigin: true, at: date())
        // Some servers refuse with a 403 where a limit is used.
        case .tooManyRequests, .forbidden:
            self.init(in: fields, isOfOrigin: false, at: date())
        default:
            guard heedsRateLimits, let time = RateLimitFields.pause(in: fields, at: date()) else { return nil }
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

/// The requests that a pause holds back.
struct PacedScope: Hashable, Sendable {
    let origin: Origin?
    private(set) var principal: Principal?
    private(set) var routeName: String?
    private(set) var isOfOrigin = false

    /// The requests with the origin, the principal and the route of one.
    init(_ head: HTTPRequest, _ options: RequestOptions, separatesRoutes: Bool) {
        origin = try? Origin(head)
        principal = options.principal
        routeName = separatesRoutes ? options.routeName : nil
    }

    /// The requests with the same origin.
    var ofOrigin: PacedScope {
        var scope = self
        (scope.principal, scope.routeName, scope.isOfOrigin) = (nil, nil, true)
        return scope
    }

    /// The scopes of the pauses that hold this request back.
    var all: [PacedScope] {
        guard routeName != nil else { return [ofOrigin, self] }
        var withoutRoute = self
        withoutRoute.routeName = nil
        return [ofOrigin, withoutRoute, self]
    }
}
