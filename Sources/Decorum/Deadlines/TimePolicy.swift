/// How long a call may take: the values of ``Connection/limitingTime(_:clock:)``.
///
/// There is one for each kind of work. A request of another kind than the rest of a stack's says so itself:
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

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - call: The time of a call, with all attempts and waits.
    ///   - body: The time until the body of the response is there, from the start of the call.
    ///   - idle: The idle timeout of a request that has none.
    public init(call: Duration?, body: Duration? = nil, idle: Duration? = nil) {
        self.init(call: call, attempt: nil, body: body, idle: idle)
    }

    private init(call: Duration?, attempt: Duration?, body: Duration? = nil, idle: Duration?) {
        self.call = call
        self.attempt = attempt
        self.body = body
        self.idle = idle
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

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - head: The time until the head of the response is there; nil for no limit.
    ///   - idle: The idle timeout of a request that has none.
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

    /// Moves the deadline to an instant, unless it is earlier.
    ///
    /// - Parameter instant: The latest instant for the deadline.
    /// - Returns: Whether the deadline has moved.
    @discardableResult
    package mutating func limitDeadline(to instant: ContinuousClock.Instant) -> Bool {
        if let deadline, deadline <= instant { return false }
        deadline = instant
        return true
    }

    /// Moves the deadline of the response's body to an instant, unless it is earlier.
    ///
    /// - Parameter instant: The latest instant for the deadline.
    package mutating func limitBodyDeadline(to instant: ContinuousClock.Instant) {
        bodyDeadline = bodyDeadline.map { min($0, instant) } ?? instant
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
