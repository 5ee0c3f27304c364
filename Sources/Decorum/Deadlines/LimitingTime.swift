extension Connection {
    /// Gives each call a deadline.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .limitingTime(as: .attempt)
    ///     .retrying()
    ///     .followingRedirects()
    ///     .limitingTime()
    /// ```
    ///
    /// The deadline of a call covers everything: redirections, attempts, the waits between them, and the wait for a
    /// connection. With ``limitingTime(_:as:clock:)`` further in, each attempt ends early enough for the next one. The layer
    /// sets ``RequestOptions/deadline``; the transport ends an exchange then, and a layer that would wait longer gives up at
    /// once, with the response or the error that it has. A request whose own deadline is earlier keeps it.
    ///
    /// The time includes the body where it is read whole for the caller: by ``Response/data(upTo:)``,
    /// ``Response/decode(_:upTo:using:)``, `text(upTo:)`, or a typed call, also that of a refusal. A ``Response/body`` that
    /// the caller streams may take any time, as an event stream or a download does, as long as something arrives:
    /// ``TimePolicy/idle`` sets the ``RequestOptions/idleTimeout`` of a request that has none. ``TimePolicy/body`` is a
    /// deadline for both, in place of the time of the call.
    ///
    /// ``RequestOptions/timePolicy`` replaces the times for one request. The layer itself ends nothing: a transport that
    /// ignores deadlines goes on.
    ///
    /// Place it outside of all layers that send again, wait or share.
    ///
    /// - Parameters:
    ///   - policy: The times.
    ///   - clock: The clock that the deadlines are instants of; the transport must have the same clock.
    /// - Returns: A connection whose requests have a deadline.
    public func limitingTime(
        _ policy: TimePolicy = .interactive, clock: any DatedClock = SystemClock()
    ) -> some Connection {
        LimitingTimeConnection(base: self, policy: policy, scope: .call, watch: TimeLimitWatch(clock: clock))
    }

    /// Gives each attempt a deadline, so that one slow attempt leaves time for the next.
    ///
    /// The deadline of an attempt ends with the head of its response; an earlier deadline of the call counts instead. For
    /// one request, ``RequestOptions/attemptTimePolicy`` or ``RequestOptions/timePolicy`` replaces the times.
    ///
    /// Place it inside of `retrying`. Further out it would limit the whole call; ``limitingTime(_:clock:)`` does that.
    ///
    /// - Parameters:
    ///   - policy: The times.
    ///   - scope: `.attempt`.
    ///   - clock: The clock that the deadlines are instants of; the transport must have the same clock.
    /// - Returns: A connection whose requests have a deadline.
    public func limitingTime(
        _ policy: AttemptTimePolicy = .interactive, as scope: AttemptTimePolicy.Scope,
        clock: any DatedClock = SystemClock()
    ) -> some Connection {
        LimitingTimeConnection(
            base: self, policy: TimePolicy(policy), scope: .attempt, watch: TimeLimitWatch(clock: clock))
    }
}

struct LimitingTimeConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let policy: TimePolicy
    let scope: TransportError.DeadlineScope
    let watch: TimeLimitWatch

    var layer: Layer {
        let times =
            [("head", policy.duration(of: scope)), ("body", scope == .call ? policy.body?.asLimit : nil)]
            + [("idle", policy.idle)]
        return Layer(
            name: "limitingTime", role: .resilience,
            settings: [.init("as", scope)] + times.compactMap { name, time in time.map { .init(name, $0) } },
            facts: Layer.facts(of: watch.clock).union(scope == .attempt ? [.limitsAttempts] : []),
            time: .init(limit: policy.duration(of: scope).map { .atMost(max(.zero, $0)) } ?? .unbounded))
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let start = watch.clock.now
        let setsDeadline = limit(&request.options, at: start)
        let endsReading = scope == .call && request.options.bodyDeadline == nil
        let deadline = endsReading ? request.options.deadline : nil
        let method = request.head.method
        do {
            var response = try await base.send(request)
            if let deadline, !response.body.isAtHand, response.metadata.callEnd == nil {
                response.metadata.callEnd = CallEnd(at: deadline, since: start, method, watchedBy: watch)
            }
            return response
        } catch let error as TransportError {
            throw setsDeadline ? error.naming(scope) : error
        }
    }

    /// Sets the limits of a request, and returns whether this layer has set its deadline.
    private func limit(_ options: inout RequestOptions, at now: ContinuousClock.Instant) -> Bool {
        let policy = options.ownTimes(of: scope) ?? policy
        if watch.clock.skipsSleeps { options.skippingClock = watch.clock }
        var setsDeadline = false
        if let time = policy.duration(of: scope), options.deadline.map({ now + time < $0 }) ?? true {
            options.deadline = now + time
            setsDeadline = true
        }
        if scope == .call, let time = policy.body?.asLimit {
            options.bodyDeadline = min(options.bodyDeadline ?? now + time, now + time)
        }
        // The times that a request sets for its attempts count against the times of a layer for calls, too.
        let idle = options.attemptTimePolicy?.idle ?? policy.idle
        if let idle, options.idleTimeout == nil { options.idleTimeout = idle }
        return setsDeadline
    }
}

extension TransportError {
    /// The error with the kind of deadline that has passed, unless a layer further in has named it.
    fileprivate func naming(_ scope: DeadlineScope) -> TransportError {
        guard code == .deadlineExceeded, stage != .body, deadlineScope == nil else { return self }
        var error = self
        error.deadlineScope = scope
        return error
    }
}

/// How long a call may take: the values of ``Connection/limitingTime(_:clock:)``.
///
/// A request of another kind than the others of a stack says so itself:
///
/// ```swift
/// var request = try Request.post("https://api.example.com/answers", body: Body(json: ["question": "Why?"]))
/// request.options.timePolicy = .modelAnswer
/// ```
///
/// The times of single attempts are an ``AttemptTimePolicy``, since another layer, inside of `retrying`, has to limit them. A
/// time of zero, or less, fails each request before it is sent; one of 68 years or more, such as `.seconds(Int.max)`, is no
/// limit.
public struct TimePolicy: Sendable, Hashable {
    /// The time of a call, with all attempts and waits: until the head of the response, and until its body where that is read
    /// whole; nil for no limit.
    public var call: Duration?
    /// The time until the head of one attempt's response is there; nil for no limit.
    ///
    /// Only a preset has one, for a request that brings its own times.
    private(set) var attempt: Duration?
    /// The time until the body of the response is there, from the start of the call, also where the caller streams it; nil
    /// for ``call`` where it is read whole, and for no limit where it is streamed.
    public var body: Duration?
    /// The idle timeout of a request that has none; nil for the timeout of the transport.
    public var idle: Duration?

    /// Creates a policy from its values.
    public init(call: Duration?, body: Duration? = nil, idle: Duration? = nil) {
        self.init(call: call, attempt: nil, body: body, idle: idle)
    }

    private init(call: Duration?, attempt: Duration?, body: Duration? = nil, idle: Duration?) {
        (self.call, self.attempt, self.body, self.idle) = (call, attempt, body, idle)
    }

    /// The times of an attempt, in the form of the times of a call.
    init(_ policy: AttemptTimePolicy) {
        self.init(call: nil, attempt: policy.head, idle: policy.idle)
    }

    /// For requests that a user waits for: 30 seconds for a call, and 15 without a byte.
    public static let interactive = TimePolicy(call: .seconds(30), attempt: .seconds(10), idle: .seconds(15))

    /// For the long answers of language models: 15 minutes for a call, of which ten may pass without a byte.
    ///
    /// A server that streams sends its head early, and the body may then take any time, unless nothing arrives for ten
    /// minutes.
    public static let modelAnswer = TimePolicy(call: .seconds(900), attempt: .seconds(600), idle: .seconds(600))

    /// For uploads and downloads of any size: a minute without a byte, and a day for a call.
    ///
    /// The head of the response to an upload comes after the whole upload, so a short limit would fit no large one.
    public static let transfer = TimePolicy(call: .seconds(86_400), attempt: nil, idle: .seconds(60))
}

/// How long each attempt of a call may take: the values of ``Connection/limitingTime(_:as:clock:)``.
///
/// ```swift
/// let connection = SystemConnection()
///     .limitingTime(AttemptTimePolicy(.seconds(5)), as: .attempt)
///     .retrying()
///     .limitingTime(TimePolicy(call: .seconds(20)))
/// ```
public struct AttemptTimePolicy: Sendable, Hashable {
    /// The kind of request that a layer limits.
    public enum Scope: Sendable, Hashable {
        /// One attempt, inside of the layers that send again.
        case attempt
    }

    /// The time until the head of the response is there; nil for no limit.
    public var head: Duration?
    /// The idle timeout of a request that has none; nil for the timeout of the transport.
    public var idle: Duration?

    /// Creates a policy from its values.
    public init(_ head: Duration?, idle: Duration? = nil) {
        self.head = head
        self.idle = idle
    }

    /// For requests that a user waits for: 10 seconds, and 15 without a byte.
    public static let interactive = AttemptTimePolicy(.seconds(10), idle: .seconds(15))

    /// For the long answers of language models: 10 minutes, in which no byte need come.
    public static let modelAnswer = AttemptTimePolicy(.seconds(600), idle: .seconds(600))

    /// For uploads and downloads of any size: a minute without a byte, and no other limit.
    public static let transfer = AttemptTimePolicy(nil, idle: .seconds(60))
}

extension TimePolicy {
    func duration(of scope: TransportError.DeadlineScope) -> Duration? {
        (scope == .call ? call : attempt)?.asLimit
    }
}

extension RequestOptions {
    /// The times for this request; nil to use the times of the stack.
    ///
    /// They also replace the times of the attempts, unless ``attemptTimePolicy`` is set. A preset brings the
    /// ``AttemptTimePolicy`` of the same name. With any other value, only the time of the call limits the attempts.
    public var timePolicy: TimePolicy? {
        get { self[TimePolicyKey.self] }
        set { self[TimePolicyKey.self] = newValue }
    }

    /// The times for each attempt of this request, where a layer limits attempts; nil to use ``timePolicy``, or else
    /// the times of the stack.
    public var attemptTimePolicy: AttemptTimePolicy? {
        get { self[AttemptTimePolicyKey.self] }
        set { self[AttemptTimePolicyKey.self] = newValue }
    }

    /// The times that the request brings with it.
    func ownTimes(of scope: TransportError.DeadlineScope) -> TimePolicy? {
        (scope == .attempt ? attemptTimePolicy.map { TimePolicy($0) } : nil) ?? timePolicy
    }
}

// The times are lengths, which suit another request as well. The instants that follow from them do not travel.
private enum TimePolicyKey: RequestOptionKey {
    static let defaultValue: TimePolicy? = nil
    static let travels: OptionTravel = [.all, .comparedWhenShared]
}

private enum AttemptTimePolicyKey: RequestOptionKey {
    static let defaultValue: AttemptTimePolicy? = nil
    static let travels: OptionTravel = [.all, .comparedWhenShared]
}
