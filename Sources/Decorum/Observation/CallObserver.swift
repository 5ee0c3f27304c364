public import HTTPTypes

/// Gets the events of calls and attempts while they happen.
///
/// Write only the methods that you need; the others do nothing. Methods that are added later do nothing either, so your
/// observer goes on to compile.
///
/// ```swift
/// struct Waits: CallObserver {
///     let show: @Sendable (String) -> Void
///
///     func decided(_ decision: CallDecision, in call: ObservedExchange) {
///         if decision.kind == .waits { show(decision.words) }
///     }
/// }
/// ```
///
/// Put it into a stack with ``Connection/observing(_:as:clock:generator:)``: outermost for calls, and inside of all layers
/// that send again for attempts. One observer may stand at both places; ``ObservedExchange/scope`` tells them apart.
///
/// ## Order
///
/// The events of one exchange come in this order:
///
/// 1. ``started(_:)``, once.
/// 2. ``decided(_:in:)``, for each decision of a layer further in, such as a wait with its reason, a redirection, a
///    cache's choice, and each request that a transport sends; only for calls. A decision about a request comes before
///    the request.
/// 3. ``headArrived(_:in:)``, once, unless the exchange ends without a response.
/// 4. ``progressed(_:in:)``, for each chunk of a body that is streamed: the request's mostly before the head, and the
///    response's after it.
/// 5. ``ended(_:)``, once and last: at the end of the response's body, at its failure or when it is dropped, or when no
///    response arrived. A cancelled exchange ends too.
///
/// A call starts before its attempts. An attempt starts after the decision that led to it, and its head comes before that of
/// its call. An attempt ends before its call if its body is read through it; an attempt that a cache
/// continues in the background may end later.
///
/// The methods are called from many tasks at a time, in the task in which the event happens. They must not block.
public protocol CallObserver: Sendable {
    /// Whether the observer gets all events; with false, only ``ended(_:)``, which costs less. The default is true.
    var getsAllEvents: Bool { get }

    /// A request has reached the layer that observes.
    ///
    /// - Parameter exchange: The call or attempt.
    func started(_ exchange: ObservedExchange)

    /// A layer has made a decision about a request of the call.
    ///
    /// - Parameters:
    ///   - decision: The decision with its reason.
    ///   - call: The call.
    func decided(_ decision: CallDecision, in call: ObservedExchange)

    /// The head of the response has arrived.
    ///
    /// - Parameters:
    ///   - head: The facts about the response.
    ///   - exchange: The call or attempt.
    func headArrived(_ head: ObservedHead, in exchange: ObservedExchange)

    /// A chunk of a body has been sent or received.
    ///
    /// A body that is in memory or in a file is not streamed, and makes no progress that can be observed.
    ///
    /// - Parameters:
    ///   - progress: The bytes so far.
    ///   - exchange: The call or attempt.
    func progressed(_ progress: ExchangeProgress, in exchange: ObservedExchange)

    /// The exchange has ended.
    ///
    /// - Parameter event: The report on the exchange.
    func ended(_ event: ExchangeEvent)
}

extension CallObserver {
    /// All events.
    public var getsAllEvents: Bool { true }
    /// Does nothing.
    public func started(_ exchange: ObservedExchange) {}
    /// Does nothing.
    public func decided(_ decision: CallDecision, in call: ObservedExchange) {}
    /// Does nothing.
    public func headArrived(_ head: ObservedHead, in exchange: ObservedExchange) {}
    /// Does nothing.
    public func progressed(_ progress: ExchangeProgress, in exchange: ObservedExchange) {}
    /// Does nothing.
    public func ended(_ event: ExchangeEvent) {}
}

/// Gets a report on each exchange when it has ended, as ``ExchangeStatistics`` does.
///
/// To use a closure instead, see ``ClosureObserver``. To hear of an exchange while it goes on, see
/// ``CallObserver``.
public protocol ExchangeObserver: CallObserver {
    /// Records an event.
    ///
    /// It is called from many tasks at a time, when the body of a response ends or is dropped, so it must not block.
    ///
    /// - Parameter event: The event.
    func record(_ event: ExchangeEvent)
}

extension ExchangeObserver {
    /// Only the end.
    public var getsAllEvents: Bool { false }
    /// Records the event.
    public func ended(_ event: ExchangeEvent) { record(event) }
}

/// The call or the attempt that an event belongs to.
///
/// To exclude secrets and unbounded values, it has no path, no query and no field.
public struct ObservedExchange: Sendable, Hashable {
    /// Whether it is a call or an attempt.
    public let scope: ExchangeEvent.Scope
    /// The identifier that all events of one call share.
    public let callID: UInt64
    /// The number of the attempt within its call, from 1; nil for a call.
    public let attempt: Int?
    /// The method.
    public let method: HTTPRequest.Method
    /// The name of the route in the options of the request, cut to 128 bytes of UTF-8.
    public let routeName: String?
    /// The origin that is asked; nil for a relative request.
    public let origin: Origin?
}

/// The facts about the head of a response that an observer gets.
public struct ObservedHead: Sendable, Hashable {
    /// The code of the status.
    public let statusCode: Int
    /// The time until the head had arrived.
    public let timeToHead: Duration
    /// The source of the response; nil when not known.
    public let source: ResponseMetadata.Source?
    /// The length of the body in bytes; nil when not known.
    public let length: Int64?
}

/// The bytes of an exchange so far.
public struct ExchangeProgress: Sendable, Hashable {
    /// The bytes of the request's body that were read for sending; the count starts anew when the body is sent again.
    public let bytesSent: Int64
    /// The length of the request's body; nil when not known.
    public let lengthToSend: Int64?
    /// The bytes of the response's body that were read.
    public let bytesReceived: Int64
    /// The length of the response's body; nil when not known, and until its head has arrived.
    public let lengthToReceive: Int64?
}

/// Gives the report on each exchange to a closure, once it has ended.
///
/// ``Connection/observing(as:clock:generator:_:)`` takes a closure as it is. Use this type where an observer is a value, as in
/// ``StandardStack/composed(over:authentication:principal:store:pauses:observer:attemptObserver:log:adding:clock:generator:spawner:)``:
///
/// ```swift
/// let connection = try StandardStack(.app).composed(
///     observer: ClosureObserver { event in analytics.count(event.routeName, isError: event.isError) })
/// ```
public struct ClosureObserver: ExchangeObserver {
    private let closure: @Sendable (ExchangeEvent) -> Void

    /// Creates an observer.
    ///
    /// - Parameter record: Gets the events, from many tasks at a time; it must not block.
    public init(_ record: @escaping @Sendable (_ event: ExchangeEvent) -> Void) {
        closure = record
    }

    /// Calls the closure.
    public func record(_ event: ExchangeEvent) {
        closure(event)
    }
}

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
