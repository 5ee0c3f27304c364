import HTTPTypes
import Synchronization

/// The state that all requests of one call share: its identifier, its attempts, and the decisions of the layers.
///
/// Keep one to learn afterwards how a call went, also when it has failed:
///
/// ```swift
/// let call = CallContext(keepingHistory: 100)
/// request.options.callContext = call
/// do {
///     return try await connection.send(request)
/// } catch {
///     print(call.history)
///     throw error
/// }
/// ```
///
/// A layer tells its decision through the options of the request:
///
/// ```swift
/// request.options.callContext?.note(CallDecision(.answers, by: "answeringOffline", "the server is not reachable"))
/// ```
///
/// Use one context for one call. A cache or ``Connection/coalescing(_:clock:spawner:)`` sends a request for several
/// callers; the decisions about it are told to the call that sends it, and each other call is told that it waits.
public final class CallContext: Sendable {
    /// The identifier of the call.
    public let id: UInt64
    private let limit: Int
    private let sink: (@Sendable (CallDecision) -> Void)?
    /// The context of the call that this one belongs to, which gets all reports too.
    private let outer: CallContext?
    /// Whether a decision is kept or told to a sink.
    private let isHeard: Bool
    private let attemptCount = Atomic(0)
    private let sendingCount = Atomic(0)
    private let retryCount = Atomic(0)
    private let state = Mutex(State())

    private struct State: ~Copyable {
        var origin: Origin?
        var history: [CallDecision] = []
        var numbers: [ObjectIdentifier: Int] = [:]
    }

    /// Creates the context of a call.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - limit: The number of decisions to keep in ``history``; later ones are not kept.
    ///   - sink: Gets each decision when it is made, in the task of the layer; it must not block.
    public convenience init(
        id: UInt64 = SystemGenerator().next(), keepingHistory limit: Int = 100,
        telling sink: (@Sendable (_ decision: CallDecision) -> Void)? = nil
    ) {
        self.init(id: id, keepingHistory: limit, within: nil, telling: sink)
    }

    init(
        id: UInt64, keepingHistory limit: Int = 0, within outer: CallContext?,
        telling sink: (@Sendable (CallDecision) -> Void)? = nil
    ) {
        self.id = id
        self.limit = max(0, limit)
        self.sink = sink
        self.outer = outer
        isHeard = limit > 0 || sink != nil || outer?.isHeard == true
    }

    /// The number of attempts so far: the requests that transports have sent, or more where a layer observes attempts.
    ///
    /// It counts each retry and each hop of a redirection, also of a call that fails, and not the requests that other
    /// calls have sent.
    public var attempts: Int { max(sendingCount.load(ordering: .relaxed), attemptCount.load(ordering: .relaxed)) }

    /// The number of retries so far, of all requests of the call.
    public var retries: Int { retryCount.load(ordering: .relaxed) }

    /// The decisions of the layers so far, in order; read it at any time, also while the call goes on.
    public var history: [CallDecision] { state.withLock { $0.history } }

    /// Tells a decision of a layer with its reason.
    ///
    /// If the context keeps no history and no observer listens, the expression is not evaluated, so this call costs
    /// nothing.
    ///
    /// - Parameter decision: The decision.
    @inline(__always)
    public func note(_ decision: @autoclosure () -> CallDecision) {
        if isHeard { tell(decision()) }
    }

    @inline(never)
    private func tell(_ decision: CallDecision) {
        var context: CallContext? = self
        while let next = context, next.isHeard {
            next.keep(decision)
            next.sink?(decision)
            context = next.outer
        }
    }

    private func keep(_ decision: CallDecision) {
        guard limit > 0 else { return }
        state.withLock { if $0.history.count < limit { $0.history.append(decision) } }
    }

    /// The origin that a layer further in has given to the relative request of the call; nil before.
    var origin: Origin? { state.withLock { $0.origin } }

    func resolve(to origin: Origin) {
        state.withLock { $0.origin = $0.origin ?? origin }
        outer?.resolve(to: origin)
    }

    /// Returns the first number that an object has given to the call, such as that of the sign-in of its user.
    package func first(_ number: Int, by object: AnyObject) -> Int {
        if let outer { return outer.first(number, by: object) }
        return state.withLock { state in
            let first = state.numbers[ObjectIdentifier(object)] ?? number
            state.numbers[ObjectIdentifier(object)] = first
            return first
        }
    }

    /// Counts a retry, which begins now.
    func addRetry() {
        retryCount.wrappingAdd(1, ordering: .relaxed)
        outer?.addRetry()
    }

    /// Counts an attempt that a layer observes, and returns its number within the whole call.
    func nextAttempt() -> Int {
        let number = attemptCount.wrappingAdd(1, ordering: .relaxed).newValue
        return outer?.nextAttempt() ?? number
    }

    /// Counts a request that a transport sends, and tells it.
    @inline(never)
    func addSending(of head: HTTPRequest) {
        let number = countSending()
        note(
            CallDecision(
                .sends, by: "transport",
                "request \(number): \(head.method) \((try? Origin(head))?.description ?? "without an origin")"))
    }

    private func countSending() -> Int {
        let number = sendingCount.wrappingAdd(1, ordering: .relaxed).newValue
        return outer?.countSending() ?? number
    }
}

extension RequestOptions {
    /// Gives a call without a context one, before a layer sends its request for the first time.
    ///
    /// - Parameter remembersUser: Whether a layer further in has to know the user of an earlier request of the call.
    @inline(__always) package mutating func beginCall(ifNeeded remembersUser: Bool) {
        if remembersUser, callContext == nil { callContext = CallContext(keepingHistory: 0) }
    }

    mutating func beginAttempt(of call: CallContext) -> Int {
        let number = call.nextAttempt()
        attemptNumber = number
        return number
    }
}

/// A decision of one layer about a call, with its reason, as in "retrying: waits 2 s, because of 503 with Retry-After 2".
///
/// A layer tells it to the ``CallContext`` of the request. The words hold no path, no query, no field and no content, so
/// that they can be shown in a log.
public struct CallDecision: Sendable, Hashable {
    /// The kind of a decision, as an open set.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        /// Creates a custom kind.
        ///
        /// - Parameter description: The name of the kind.
        public init(_ description: String) {
            self.description = description
        }

        /// A transport sends a request, or a cassette or a test double answers it in place of one.
        public static let sends = Kind("sends")
        /// The layer waits before it goes on.
        public static let waits = Kind("waits")
        /// The layer sends a request again at once, perhaps in another form.
        public static let resends = Kind("resends")
        /// The layer returns the outcome that it has, although it could have tried further.
        public static let givesUp = Kind("gives up")
        /// The layer sends a request to another URL.
        public static let redirects = Kind("redirects")
        /// The layer answers without forwarding the request.
        public static let answers = Kind("answers")
        /// The layer forwards the request, although it could have answered.
        public static let forwards = Kind("forwards")
        /// The layer waits for the response to an identical request of another call.
        public static let joins = Kind("joins")
        /// The layer leaves out its work for this request.
        public static let skips = Kind("skips")
    }

    /// The kind of the decision.
    public var kind: Kind
    /// The name of the layer, as in ``Layer/name``.
    public var layer: String
    /// The decision with its reason, in words without secrets.
    public var words: String
    /// The time that the layer is going to wait; nil for a decision that is no wait.
    public var delay: Duration?

    /// Creates a decision.
    ///
    /// - Parameters:
    ///   - kind: The kind of the decision.
    ///   - layer: The name of the layer.
    ///   - words: The decision with its reason, in words without secrets.
    ///   - delay: The time that the layer is going to wait.
    public init(_ kind: Kind, by layer: String, _ words: String, waiting delay: Duration? = nil) {
        self.kind = kind
        self.layer = layer
        self.words = words
        self.delay = delay
    }
}

extension CallDecision: CustomStringConvertible {
    /// The name of the layer, and the words.
    public var description: String { "\(layer): \(words)" }
}
