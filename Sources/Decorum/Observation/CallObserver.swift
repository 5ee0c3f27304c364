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
/// ``getsAllEvents`` is false, only ``started(_:)`` and ``ended(_:)`` are called, which costs less, with a report that has no
/// URLs, no decisions and no texts of errors: that is enough for metrics, such as the number of active requests.
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
    /// Whether the observer gets all events; with false, only ``started(_:)`` and ``ended(_:)``. The default is true.
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
    /// - Parameter report: The report on the exchange.
    func ended(_ report: CallReport)
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
    public func ended(_ report: CallReport) {}
}

/// The call or the attempt that an event belongs to.
///
/// To exclude secrets and unbounded values, it has no path, no query and no field.
public struct ObservedExchange: Sendable, Hashable {
    /// Whether it is a call or an attempt.
    public let scope: CallReport.Scope
    /// The identifier that all events of one call share.
    public let callID: UInt64
    /// The number of the attempt within its call, from 1; nil for a call.
    public let attempt: Int?
    /// The method.
    public let method: HTTPRequest.Method
    /// The name of the route in the options of the request, cut to 128 bytes of UTF-8.
    public let routeName: String?
    let asked: AskedOrigin?
    /// The state of the network when the attempt began; nil for a call, and without a layer that asks for it, such as
    /// `waitingForNetwork` of `DecorumTraffic`.
    public let network: NetworkState?

    init(_ scope: CallReport.Scope, callID: UInt64, attempt: Int?, sending request: borrowing Request) {
        (self.scope, self.callID, self.attempt) = (scope, callID, attempt)
        method = request.head.method
        routeName = request.options.routeName?.cut(toBytes: 128)
        asked = AskedOrigin(of: request.head)
        network = scope == .attempt ? request.options.networkState : nil
    }

    /// The origin that is asked, before any redirection; nil for a relative request.
    public var origin: Origin? { asked?.value }
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
/// Use it where an observer is a value; ``Connection/observing(as:clock:generator:_:)`` takes a closure as it is.
public struct ClosureObserver: CallObserver {
    private let closure: @Sendable (CallReport) -> Void

    /// Creates an observer.
    ///
    /// - Parameter record: Gets the events, from many tasks at a time; it must not block.
    public init(_ record: @escaping @Sendable (_ report: CallReport) -> Void) {
        closure = record
    }

    /// Only the start and the end.
    public var getsAllEvents: Bool { false }
    /// Calls the closure.
    public func ended(_ report: CallReport) { closure(report) }
}
