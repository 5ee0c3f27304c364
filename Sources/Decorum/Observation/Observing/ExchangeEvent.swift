public import HTTPTypes

/// What is told of one call, or of one attempt within it, when it has ended.
///
/// It holds nothing that may be secret or that has endless values: no path, no query, no field, no content, no reason
/// phrase.
public struct ExchangeEvent: Sendable, Hashable {
    /// What an event stands for.
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// A request as its caller made it, over all retries and redirections.
        case call
        /// One request that was sent on.
        case attempt
    }

    /// How an exchange ended.
    public enum Outcome: Sendable, Hashable {
        /// The response and its whole body arrived, whatever the status.
        case finished
        /// Sending, or reading the body, failed; the name is one out of a small number.
        case failed(name: String)
        /// The task was cancelled, which is no failure.
        case cancelled
        /// The response arrived and its body was let go before the end.
        case abandoned
    }

    /// What the event stands for.
    public var scope: Scope
    /// What the events of one call have in common.
    public var callID: UInt64
    /// The number of the attempt within its call, from 1; nil for a call.
    public var attempt: Int?
    /// The method.
    public var method: HTTPRequest.Method
    /// The name of the route, which the request's options give; at most 128 characters of it.
    public var routeName: String?
    /// Whom the request was for; nil where it had no valid origin yet.
    public var origin: Origin?
    private var statusCode: Int?
    /// How the exchange ended.
    public var outcome: Outcome
    /// The time until the head of the response had arrived; nil where none did.
    public var timeToHead: Duration?
    /// The time until the exchange had ended.
    public var duration: Duration
    /// The length of the request's body; where it was not known, the bytes that were read of it.
    public var bytesSent: Int64
    /// The bytes that were read of the response's body.
    public var bytesReceived: Int64
    /// How many attempts a call took: those that were observed, or else as many as the response's metadata tells.
    ///
    /// It is 1 for an attempt, and nil for a call that failed without an observed attempt.
    public var attempts: Int?
    /// Where the response came from; nil where nobody said.
    public var source: ResponseMetadata.Source?

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - scope: What the event stands for.
    ///   - callID: What the events of one call have in common.
    ///   - attempt: The number of the attempt within its call.
    ///   - method: The method.
    ///   - routeName: The name of the route.
    ///   - origin: Whom the request was for.
    ///   - status: The status.
    ///   - outcome: How the exchange ended.
    ///   - timeToHead: The time until the head of the response had arrived.
    ///   - duration: The time until the exchange had ended.
    ///   - bytesSent: The length of the request's body.
    ///   - bytesReceived: The bytes that were read of the response's body.
    ///   - attempts: How many attempts the exchange took.
    ///   - source: Where the response came from.
    public init(
        scope: Scope,
        callID: UInt64,
        attempt: Int? = nil,
        method: HTTPRequest.Method,
        routeName: String? = nil,
        origin: Origin? = nil,
        status: HTTPResponse.Status? = nil,
        outcome: Outcome = .finished,
        timeToHead: Duration? = nil,
        duration: Duration,
        bytesSent: Int64 = 0,
        bytesReceived: Int64 = 0,
        attempts: Int? = nil,
        source: ResponseMetadata.Source? = nil
    ) {
        self.scope = scope
        self.callID = callID
        self.attempt = attempt
        self.method = method
        self.routeName = routeName.map { String($0.prefix(128)) }
        self.origin = origin
        statusCode = status?.code
        self.outcome = outcome
        self.timeToHead = timeToHead
        self.duration = duration
        self.bytesSent = bytesSent
        self.bytesReceived = bytesReceived
        self.attempts = attempts
        self.source = source
    }

    /// The status, without the server's reason phrase, which may say anything; nil where no response arrived.
    public var status: HTTPResponse.Status? {
        get { statusCode.map { HTTPResponse.Status(code: $0) } }
        set { statusCode = newValue?.code }
    }

    /// Whether the exchange counts as an error: it failed, or its status is one of 4xx or 5xx.
    public var isError: Bool {
        switch outcome {
        case .failed: true
        case .cancelled: false
        case .finished, .abandoned: (statusCode ?? 0) >= 400
        }
    }
}

extension ExchangeEvent.Outcome {
    init(_ ending: ExchangeReport.Ending) {
        switch ending {
        case .finished: self = .finished
        case .abandoned: self = .abandoned
        case .failed(let error):
            self = error is CancellationError ? .cancelled : .failed(name: Redaction.name(of: error))
        }
    }
}
