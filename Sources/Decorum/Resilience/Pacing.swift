public import Foundation
public import HTTPTypes

extension Connection {
    /// Sends nothing to a server for as long as it asks for a pause, and then as much as its answers allow.
    ///
    /// A 503 with `Retry-After` holds all requests to its origin back. A 429 or a 403 with `Retry-After`, and a response
    /// that says that nothing remains of a rate limit (`RateLimit`, `X-RateLimit-Remaining: 0`), hold back the requests with
    /// the same origin, the same ``RequestOptions/principal``, and, unless ``PacingPolicy/separatesRoutes`` is false, the
    /// same ``RequestOptions/routeName``. ``PacingPolicy/pausesByStatus`` begins a pause after other responses, and
    /// ``PacingPolicy/key`` chooses other requests to hold back.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .pacing()
    ///     .retrying()
    ///     .caching(in: MemoryResponseStore())
    /// ```
    ///
    /// A pause takes as long as the server asks, plus a random part of up to half of it, at least 1 second and at most 20,
    /// so that clients that were given one date do not all come back at once. After it, one request is let through, and each
    /// good answer, with a status below 500 that is not 429, lets two more through. So a server that is well gets all of
    /// them after some round trips. After a failure, the next one is let through once no other is on its way.
    /// A minute in which nothing is sent ends this too.
    ///
    /// A request that cannot be sent before its ``RequestOptions/deadline``, or that would wait for longer than
    /// ``PacingPolicy/longestWait``, fails at once with a ``PacingError``. A cache further out may answer it with a stale
    /// response, and `retrying` waits for the instant of the error if its policy allows that.
    ///
    /// Place it inside of `retrying`, so that each attempt is held back, and outside of authentication, so that
    /// credentials are new when the request is sent. It holds the head of a request back, and no body in memory. See RFC
    /// 9110, section 10.2.3, and the draft "RateLimit header fields for HTTP".
    ///
    /// - Parameters:
    ///   - policy: How long a request waits, and how long a pause may be.
    ///   - pauses: The pauses, which several stacks may share.
    ///   - clock: The clock that waits, and has the date from which times count in responses without `Date`.
    ///   - generator: The source of the random part.
    /// - Returns: A connection that throws ``PacingError`` for requests that cannot wait.
    public func pacing(
        _ policy: PacingPolicy = .standard,
        in pauses: ServerPauses = ServerPauses(),
        clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) -> some Connection {
        PacingConnection(
            base: self, policy: policy, pauses: pauses, watch: TimeLimitWatch(clock: clock), generator: generator)
    }
}

/// How long requests of ``Connection/pacing(_:in:clock:generator:)`` wait, and how long a pause may be.
public struct PacingPolicy: Sendable, Hashable {
    /// The longest time for which a request without a deadline waits; a request with a longer wait fails at once.
    public var longestWait: Duration
    /// The longest pause; after it, one request asks a server that wanted a longer one again.
    public var longestPause: Duration
    /// Whether a successful response that says that nothing remains of a rate limit causes a pause too.
    public var heedsRateLimits: Bool
    /// Whether a used rate limit holds only the requests with the same ``RequestOptions/routeName`` back; false for a server
    /// that limits a user over all routes.
    public var separatesRoutes: Bool
    /// The pauses after statuses whose response names no time; empty by default, so that only a server that asks gets one.
    ///
    /// A response with one of these statuses may name its time too, as a 429 does. A 503 still holds all requests to its origin
    /// back. A pause of zero, or less, is no pause.
    ///
    /// ```swift
    /// let policy = PacingPolicy(pausesByStatus: [.serviceUnavailable: .seconds(1), .init(code: 529): .seconds(5)])
    /// ```
    public var pausesByStatus: [HTTPResponse.Status: Duration]
    /// The requests that a pause holds back; nil for all of the origin after a 503, and else for the requests of one user and route.
    public var key: PacingKey?

    /// Creates a policy from its values; ``standard`` has the defaults.
    public init(
        longestWait: Duration = .seconds(60), longestPause: Duration = .seconds(3600), heedsRateLimits: Bool = true,
        separatesRoutes: Bool = true, pausesByStatus: [HTTPResponse.Status: Duration] = [:], key: PacingKey? = nil
    ) {
        (self.pausesByStatus, self.key, self.longestWait) = (pausesByStatus, key, longestWait)
        (self.longestPause, self.heedsRateLimits) = (longestPause, heedsRateLimits)
        self.separatesRoutes = separatesRoutes
    }

    /// Requests wait for up to a minute, and pauses take up to an hour.
    public static let standard = PacingPolicy()
}

/// The name of the requests that a pause of ``Connection/pacing(_:in:clock:generator:)`` holds back together.
///
/// ```swift
/// let policy = PacingPolicy(key: PacingKey("tenant") { request, _ in request.headerFields[.tenant] })
/// ```
///
/// A key is equal to itself alone.
public final class PacingKey: Sendable, Hashable, CustomStringConvertible {
    /// The name for the description of the layer.
    public let description: String
    let value: @Sendable (_ request: HTTPRequest, _ options: RequestOptions) -> String?

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - name: A short name for the description of the layer.
    ///   - value: Returns the name of the requests of one origin that a response to this one may hold back, out of a small set;
    ///     nil for the scope that they have without a key. It is called for a request before it is sent while there are
    ///     pauses, and after a response that asks for one.
    public init(
        _ name: String, _ value: @escaping @Sendable (_ request: HTTPRequest, _ options: RequestOptions) -> String?
    ) {
        description = name
        self.value = value
    }

    /// Whether both are the same key.
    public static func == (left: PacingKey, right: PacingKey) -> Bool { left === right }

    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

struct PacingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let policy: PacingPolicy
    let pauses: ServerPauses
    let watch: TimeLimitWatch
    let generator: any RandomGenerator

    var layer: Layer {
        Layer(
            name: "pacing", role: .resilience,
            settings: [.init("longestWait", policy.longestWait)]
                + [policy.key.map { .init("key", $0) }, pauses.sharing.map { _ in .init("shared", true) }]
                .compactMap(\.self),
            facts: Layer.facts(of: clock).union([.readsStatus, .waitsUntilDeadline]),
            time: .init(waiting: .atMost(max(.zero, policy.longestWait))), memory: .init(state: [.init(pauses)]))
    }

    private var clock: any DatedClock { watch.clock }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let turn =
            pauses.isActive ? try await waitForTurn(scope(of: request.head, request.options), request.options) : nil
        let head = request.head
        let options = request.options
        do {
            var response = try await base.send(request)
            if let pause = PacingError.Cause(response.head, by: policy, at: clock.date) {
                response.metadata.pauseEnd = begin(pause, for: scope(of: head, options))
            }
            if let turn {
                // After the pause that the response asks for, so that it lets no request through before.
                pauses.end(turn, isGood: response.status.isGoodAfterPause, at: clock.now)
                if turn.waited > .zero { response.metadata.pacingWait = turn.waited }
            }
            return response
        } catch {
            if let turn { pauses.end(turn, isGood: false, at: clock.now) }
            throw error
        }
    }

    private func scope(of head: HTTPRequest, _ options: RequestOptions) -> PacedScope {
        PacedScope(head, options, by: policy)
    }

    /// Waits until the request may be sent.
    private func waitForTurn(_ scope: PacedScope, _ options: RequestOptions) async throws -> PacingTurn {
        let start = clock.now
        let limit = options.lastDeadline ?? clock.instant(after: policy.longestWait)
        var now = start
        // A pause may begin while the request waits.
        while true {
            if let sharing = pauses.sharing, sharing.hasPauses { beginPauses(of: scope, toldBy: sharing) }
            switch pauses.step(for: scope, at: now, before: limit) {
            case .go(var turn):
                turn.waited = now - start
                return turn
            case .sleep(let instant, let cause):
                let wait = instant - now
                guard instant < limit else {
                    throw giveUp(
                        scope, options, until: instant, because: cause,
                        "the server asks for a pause of another \(wait.shortText)")
                }
                let words = "waits for \(wait.shortText): the server asks for a pause"
                options.callContext?.note(CallDecision(.waits, by: "pacing", words, waiting: wait))
                try await clock.sleep(until: instant, tolerance: nil)
                try Task.checkCancellation()
            case .queue(let queued, let cause):
                let words = "waits for answers to the requests ahead of it, after the pause of the server"
                options.callContext?.note(CallDecision(.waits, by: "pacing", words))
                guard let turn = try await queued.value(watchedBy: watch, orCancel: {}) else {
                    throw giveUp(
                        scope, options, until: clock.now, because: cause,
                        "the requests ahead of it had no good answers in time, after the pause of the server")
                }
                if var turn {
                    turn.waited = clock.now - start
                    return turn
                }
            }
            now = clock.now
        }
    }

    /// Notes that a request is not sent, and returns its error.
    private func giveUp(
        _ scope: PacedScope, _ options: RequestOptions, until instant: ContinuousClock.Instant,
        because cause: PacingError.Cause, _ words: String
    ) -> PacingError {
        options.callContext?.note(CallDecision(.givesUp, by: "pacing", "not sent: \(words)"))
        let wait = max(.zero, instant - clock.now)
        return PacingError(
            origin: scope.origin, instant: instant, date: clock.date + TimeInterval(wait / .seconds(1)), wait: wait,
            routeName: options.routeName, cause: cause)
    }

    /// Begins a pause, and returns the date of its end.
    private func begin(_ pause: PacingError.Cause, for scope: PacedScope) -> Date {
        let asked = min(pause.asked, max(.zero, policy.longestPause))
        let now = clock.now
        let time = AskedWait.spread(asked).random(using: generator)
        let scope = pause.isOfOrigin ? scope.ofOrigin : scope
        if pauses.begin(from: now + asked, to: now + time, for: scope, because: pause), let sharing = pauses.sharing {
            sharing.tell(SharedPause(scope.digest(seed: sharing.seed), since: clock.date, because: pause))
        }
        return clock.date + TimeInterval(time / .seconds(1))
    }

    /// Begins the pauses of a request that servers have asked other machines for.
    private func beginPauses(of scope: PacedScope, toldBy sharing: any PauseSharing) {
        for scope in scope.all {
            guard let pause = sharing.pause(of: scope.digest(seed: sharing.seed)) else { continue }
            let asked = min(pause.cause.asked, max(.zero, policy.longestPause))
            let rest = min(asked, asked - .seconds(clock.date.timeIntervalSince(pause.start)))
            guard rest > .zero else { continue }
            let (now, more) = (clock.now, AskedWait.spread(asked).random(using: generator) - asked)
            pauses.begin(from: now + rest, to: now + rest + more, for: scope, because: pause.cause)
        }
    }
}

extension HTTPResponse.Status {
    fileprivate var isGoodAfterPause: Bool { code < 500 && self != .tooManyRequests }
}

/// A request that was not sent, because its server has asked for a pause that ends too late for the request.
///
/// ``Connection/pacing(_:in:clock:generator:)`` throws it at once, or, with a ``wait`` of zero, when the time of a request ends
/// that still waits for answers to the requests ahead of it. It says that it may pass (``TemporaryError``), and that the
/// server was not reached (``ReachabilityError``), so that a cache may answer with a stale response.
public struct PacingError: DescribableError, Sendable, Hashable {
    /// The server; nil if the request names none.
    public let origin: Origin?
    /// The route name of the request that was not sent; nil if it has none.
    public let routeName: String?
    /// The instant at which the request could be sent.
    public let instant: ContinuousClock.Instant
    /// The date and time of that instant.
    public let date: Date
    /// The time from the failure to that instant.
    public let wait: Duration
    /// The response with which the server has asked for the pause; nil if it is not known.
    public let cause: Cause?
    /// The URL of a relative request, which a layer has resolved; for logs, which redact it.
    var resolvedURL: String?

    /// The response to another request, which began the pause.
    public struct Cause: Sendable, Hashable {
        /// The status of the response.
        public let status: HTTPResponse.Status
        /// The time that the server asked for.
        public let asked: Duration
        /// Whether the server asked by saying that nothing remains of a rate limit, instead of with `Retry-After`.
        public let isRateLimit: Bool
        /// Whether all requests to the origin have to wait, and not only the requests of one user.
        let isOfOrigin: Bool

        package init(status: HTTPResponse.Status, asked: Duration, isRateLimit: Bool, isOfOrigin: Bool = false) {
            (self.status, self.asked, self.isRateLimit, self.isOfOrigin) = (status, asked, isRateLimit, isOfOrigin)
        }

        /// Reads the pause that a response asks for; nil if it asks for no pause.
        init?(_ response: HTTPResponse, by policy: borrowing PacingPolicy, at date: @autoclosure () -> Date) {
            let (code, fields) = (response.code, response.headerFields)
            // Without the reason phrase, which are words of the server.
            let status = HTTPResponse.Status(code: code)
            let ownPause = code < 300 ? nil : policy.pausesByStatus[status]
            let isOfOrigin = code == 503 && (fields.contains(.retryAfter) || ownPause != nil)
            // Some servers refuse with a 403 if a limit is used.
            guard isOfOrigin || ownPause != nil || code == 429 || code == 403 else {
                guard policy.heedsRateLimits else { return nil }
                guard let time = RateLimitFields.usedLimit(in: fields, at: date())?.renewal else { return nil }
                self.init(status: status, asked: time, isRateLimit: true)
                return
            }
            let asked = AskedWait.duration(in: fields, at: date())
            guard let time = asked ?? ownPause, time > .zero || asked != nil else { return nil }
            let isRateLimit = asked != nil && RetryAfter.longestDelay(in: fields, at: date()) == nil
            self.init(status: status, asked: time, isRateLimit: isRateLimit, isOfOrigin: isOfOrigin)
        }
    }

    package init(
        origin: Origin?, instant: ContinuousClock.Instant, date: Date, wait: Duration, routeName: String? = nil,
        cause: Cause? = nil
    ) {
        (self.origin, self.routeName, self.instant, self.date, self.wait) = (origin, routeName, instant, date, wait)
        self.cause = cause
    }

    /// The server, the response that asked for the pause, and the instant at which the request can be sent.
    public var description: String {
        let server = origin?.hostAndPort ?? "the server"
        let route = routeName.map { " (route “\(Redaction.shownWords($0))”)" } ?? ""
        let event = "The request to \(server)\(route) was not sent, because \(reason)"
        guard wait > .zero else {
            return "\(event), and the requests ahead of it had no good answers in time. Send it again later."
        }
        // Rounded up, so that a request which is sent then does not come too early.
        let (whole, rest) = wait.bounded.components
        let time = Duration.seconds(whole + (rest > 0 ? 1 : 0)).shortText
        return "\(event). Send it in \(time), not before \(HTTPDate(date))."
    }

    private var reason: String {
        guard let cause else { return "the server has asked for a pause" }
        return cause.isRateLimit
            ? "a response \(cause.status.code) says that the rate limit is used for \(cause.asked.shortText)"
            : "a response \(cause.status.code) asks for a pause of \(cause.asked.shortText)"
    }
}

extension PacingError: ReachabilityError {
    /// True, since nothing was sent.
    public var meansServerNotReached: Bool { true }
}

extension PacingError: TemporaryError {
    /// True, since the pause ends.
    public var mayPass: Bool { true }
    /// True, since nothing was sent.
    public var meansNotProcessed: Bool { true }
    /// The instant at which the request could be sent.
    public var earliestRetry: ContinuousClock.Instant? { instant }
}
