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
/// that send again for attempts. One observer may stand at both places; ``ObservedExchange/scope`` tells them apart. If
/// ``getsAllEvents`` is false, only ``ended(_:)`` is called, which costs less.
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
    /// Whether the observer gets all events; with false, only ``ended(_:)``. The default is true.
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
    /// The origin that is asked, before any redirection; nil for a relative request, until a layer has resolved it.
    public internal(set) var origin: Origin?
    /// The state of the network when the attempt began; nil for a call, and without a layer that asks for it, such as
    /// `waitingForNetwork` of `DecorumTraffic`.
    public internal(set) var network: NetworkState?
}

/// The facts about the head of a response that an observer gets.
public struct ObservedHead: Sendable, Hashable {
    /// The code of the status.
    public let statusCode: Int
    /// The time until the head had arrived.
    public let timeToHead: Duration
    /// The source of the response; nil if it is not known.
    public let source: ResponseMetadata.Source?
    /// The length of the body in bytes; nil if it is not known.
    public let length: Int64?
}

/// The bytes of an exchange so far.
public struct ExchangeProgress: Sendable, Hashable {
    /// The bytes of the request's body that were read for sending; the count starts anew when the body is sent again.
    public let bytesSent: Int64
    /// The length of the request's body; nil if it is not known.
    public let lengthToSend: Int64?
    /// The bytes of the response's body that were read.
    public let bytesReceived: Int64
    /// The length of the response's body; nil if it is not known, and until its head has arrived.
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
public struct ClosureObserver: CallObserver {
    private let closure: @Sendable (ExchangeEvent) -> Void

    /// Creates an observer.
    ///
    /// - Parameter record: Gets the events, from many tasks at a time; it must not block.
    public init(_ record: @escaping @Sendable (_ event: ExchangeEvent) -> Void) {
        closure = record
    }

    /// Only the end.
    public var getsAllEvents: Bool { false }
    /// Calls the closure.
    public func ended(_ event: ExchangeEvent) { closure(event) }
}

/// A report on one call, or on one attempt within a call, after its end.
///
/// To exclude secrets and unbounded values, it has no path, no query, no field, no content and no reason phrase.
@dynamicMemberLookup public struct ExchangeEvent: Sendable, Hashable {
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

        /// The end in words; nil if the status says it all.
        fileprivate var words: String? {
            switch self {
            case .finished: nil
            case .failed(let name): "failed with \(name)"
            case .cancelled: "cancelled"
            case .abandoned: "the rest of the body dropped"
            }
        }
    }

    /// The call or the attempt; its properties are properties of the event too, as in `event.routeName`.
    public internal(set) var exchange: ObservedExchange
    var statusCode: Int?
    /// How the exchange ended.
    public internal(set) var outcome = Outcome.finished
    /// The time until the head of the response had arrived; nil when no head arrived.
    public internal(set) var timeToHead: Duration?
    /// The time until the exchange had ended.
    public internal(set) var duration: Duration
    /// The length of the request's body; if it is not known, the number of its bytes that were read.
    public internal(set) var bytesSent: Int64 = 0
    /// The bytes that were read of the response's body, also of a stored response.
    public internal(set) var bytesReceived: Int64 = 0
    /// The number of attempts of a call, as in ``CallContext/attempts``, or without any, the number in the response's metadata.
    ///
    /// It is 1 for an attempt, 0 for a call that shares the request of another one, and nil for a call that failed before
    /// anything was sent.
    public internal(set) var attempts: Int?
    /// How often the layers further in sent a request of the call again after a temporary failure; 0 for an attempt.
    public internal(set) var retries = 0
    /// The source of the response; nil if it is not known.
    public internal(set) var source: ResponseMetadata.Source?

    /// A property of the call or the attempt.
    public subscript<Value>(dynamicMember path: KeyPath<ObservedExchange, Value>) -> Value { exchange[keyPath: path] }

    /// The status, without the server's reason phrase, which may be any text; nil when no response arrived.
    public var status: HTTPResponse.Status? { statusCode.map { HTTPResponse.Status(code: $0) } }

    /// Whether the exchange counts as an error: it failed, or its status is one of 4xx or 5xx.
    public var isError: Bool {
        switch outcome {
        case .failed: true
        case .cancelled: false
        case .finished, .abandoned: (statusCode ?? 0) >= 400
        }
    }
}

extension ExchangeEvent {
    package init(
        scope: Scope, callID: UInt64, attempt: Int? = nil, method: HTTPRequest.Method, routeName: String? = nil,
        origin: Origin? = nil, status: HTTPResponse.Status? = nil, outcome: Outcome = .finished,
        timeToHead: Duration? = nil, duration: Duration, bytesSent: Int64 = 0, bytesReceived: Int64 = 0,
        attempts: Int? = nil, retries: Int = 0, source: ResponseMetadata.Source? = nil
    ) {
        self.init(
            exchange: ObservedExchange(
                scope: scope, callID: callID, attempt: attempt, method: method, routeName: routeName?.cut(toBytes: 128),
                origin: origin),
            statusCode: status?.code, outcome: outcome, timeToHead: timeToHead, duration: duration,
            bytesSent: bytesSent, bytesReceived: bytesReceived, attempts: attempts, retries: retries, source: source)
    }
}

extension ExchangeEvent: CustomStringConvertible, CustomDebugStringConvertible {
    /// The event as one line, as in `call GET users/{name} of https://a.example: 200 (network) after 31.2 ms`.
    public var description: String {
        let number = exchange.attempt.map { " \($0)" } ?? ""
        let route = exchange.routeName.map { " \($0)" } ?? ""
        let place = exchange.origin.map { " of \($0)" } ?? ""
        let code = statusCode.map { "\($0)\(source.map { " (\($0))" } ?? "")" }
        let end = [code, outcome.words].compactMap(\.self).joined(separator: ", ")
        let again = retries > 0 ? ", sent again \(retries)×" : ""
        let subject = "\(exchange.scope)\(number) \(exchange.method)\(route)\(place)"
        return "\(subject): \(end) after \(duration.shortText)\(again)"
    }

    /// The same as the description.
    public var debugDescription: String { description }
}
