public import HTTPTypes

/// A report on one call, or on one attempt within a call, after its end.
///
/// To exclude secrets and unbounded values, it has no path, no query, no field, no content and no reason phrase.
public struct ExchangeEvent: Sendable, Hashable {
    /// The kind of exchange that an event stands for.
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// A request of the caller, with all its retries and redirections.
        case call
        /// One request that was sent.
        case attempt
    }

    /// How an exchange ended.
    public enum Outcome: Sendable, Hashable {
        /// The response and its whole body arrived, whatever the status.
        case finished
        /// Sending or reading the body failed; the name is one of a small number.
        case failed(name: String)
        /// The task was cancelled, which does not count as a failure.
        case cancelled
        /// The response arrived and its body was dropped before its end.
        case abandoned
    }

    /// The kind of exchange that the event stands for.
    public var scope: Scope
    /// The identifier that all events of one call share.
    public var callID: UInt64
    /// The number of the attempt within its call, from 1; nil for a call.
    public var attempt: Int?
    /// The method.
    public var method: HTTPRequest.Method
    /// The name of the route in the options of the request, cut to 128 bytes of UTF-8.
    public var routeName: String?
    /// The origin that was asked, before any redirection.
    ///
    /// A relative request has the origin that ``Connection/resolving(against:)`` gives it further in. Nil when a
    /// request without an origin failed before it had one.
    public var origin: Origin?
    var statusCode: Int?
    /// How the exchange ended.
    public var outcome: Outcome
    /// The time until the head of the response had arrived; nil when no head arrived.
    public var timeToHead: Duration?
    /// The time until the exchange had ended.
    public var duration: Duration
    /// The length of the request's body; when not known, the number of its bytes that were read.
    public var bytesSent: Int64
    /// The bytes that were read of the response's body, also of a stored response.
    public var bytesReceived: Int64
    /// The number of attempts of a call, as in ``CallContext/attempts``, or without any, the number in the response's metadata.
    ///
    /// It is 1 for an attempt, 0 for a call that shares the request of another one, and nil for a call that failed before
    /// anything was sent.
    public var attempts: Int?
    /// How often the layers further in sent a request of the call again after a temporary failure; 0 for an attempt.
    public var retries: Int
    /// The source of the response; nil when not known.
    public var source: ResponseMetadata.Source?

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - scope: The kind of exchange that the event stands for.
    ///   - callID: The identifier that all events of one call share.
    ///   - attempt: The number of the attempt within its call.
    ///   - method: The method.
    ///   - routeName: The name of the route.
    ///   - origin: The origin of the request.
    ///   - status: The status.
    ///   - outcome: How the exchange ended.
    ///   - timeToHead: The time until the head of the response had arrived.
    ///   - duration: The time until the exchange had ended.
    ///   - bytesSent: The length of the request's body.
    ///   - bytesReceived: The bytes that were read of the response's body.
    ///   - attempts: The number of attempts of the exchange.
    ///   - retries: How often a request of the call was sent again after a temporary failure.
    ///   - source: The source of the response.
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
        retries: Int = 0,
        source: ResponseMetadata.Source? = nil
    ) {
        self.scope = scope
        self.callID = callID
        self.attempt = attempt
        self.method = method
        self.routeName = routeName?.cut(toBytes: 128)
        self.origin = origin
        statusCode = status?.code
        self.outcome = outcome
        self.timeToHead = timeToHead
        self.duration = duration
        self.bytesSent = bytesSent
        self.bytesReceived = bytesReceived
        self.attempts = attempts
        self.retries = retries
        self.source = source
    }

    /// The status, without the server's reason phrase, which may be any text; nil when no response arrived.
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

extension ExchangeEvent: CustomStringConvertible, CustomDebugStringConvertible {
    /// The event as one line, as in `call GET users/{name} of https://a.example: 200 (network) after 31.2 ms`.
    public var description: String {
        let number = attempt.map { " \($0)" } ?? ""
        let route = routeName.map { " \($0)" } ?? ""
        let place = origin.map { " of \($0)" } ?? ""
        let code = statusCode.map { "\($0)\(source.map { " (\($0))" } ?? "")" }
        let end = [code, outcome.words].compactMap(\.self).joined(separator: ", ")
        let again = retries > 0 ? ", sent again \(retries)×" : ""
        return "\(scope.rawValue)\(number) \(method)\(route)\(place): \(end) after \(duration.shortText)\(again)"
    }

    /// The same as the description.
    public var debugDescription: String { description }
}

extension ExchangeEvent.Outcome {
    /// The end in words; nil where the status says it all.
    fileprivate var words: String? {
        switch self {
        case .finished: nil
        case .failed(let name): "failed with \(name)"
        case .cancelled: "cancelled"
        case .abandoned: "the rest of the body dropped"
        }
    }
}
