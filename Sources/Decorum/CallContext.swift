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
    private let listener: Listener?
    /// The context of the call that this one belongs to, which gets all reports too.
    private let outer: CallContext?
    /// Whether a decision is kept or told to a sink.
    private let isHeard: Bool
    private let attemptCount = Atomic(0)
    private let sendingCount = Atomic(0)
    private let retryCount = Atomic(0)
    private let joined = Atomic(false)
    private let state = Mutex(State())

    /// Where decisions are kept and told; one object, which most calls do not have.
    private final class Listener: Sendable {
        let limit: Int
        let sink: (@Sendable (CallDecision) -> Void)?
        let clock: (any DatedClock)?
        let start: ContinuousClock.Instant?

        init(limit: Int, sink: (@Sendable (CallDecision) -> Void)?, clock: (any DatedClock)?) {
            (self.limit, self.sink, self.clock, start) = (limit, sink, clock, clock?.now)
        }
    }

    private struct State: ~Copyable {
        var origin: AskedOrigin?
        var history: [CallDecision] = []
        var numbers: [ObjectIdentifier: Int] = [:]
        var layers: [MeasuredLayer] = []
    }

    /// Creates the context of a call.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - limit: The number of decisions to keep in ``history``; later ones are not kept.
    ///   - clock: The clock that gives each decision its ``CallDecision/time``; nil to leave them without.
    ///   - sink: Gets each decision when it is made, in the task of the layer; it must not block.
    public convenience init(
        id: UInt64 = SystemGenerator().next(), keepingHistory limit: Int = 100, timedBy clock: (any DatedClock)? = nil,
        telling sink: (@Sendable (_ decision: CallDecision) -> Void)? = nil
    ) {
        self.init(id: id, keepingHistory: limit, within: nil, timedBy: clock, telling: sink)
    }

    convenience init(
        id: UInt64, keepingHistory limit: Int, within outer: CallContext?, timedBy clock: (any DatedClock)?,
        telling sink: (@Sendable (CallDecision) -> Void)?
    ) {
        self.init(
            id: id, within: outer,
            heardBy: limit > 0 || sink != nil ? Listener(limit: max(0, limit), sink: sink, clock: clock) : nil)
    }

    /// Creates a context that counts, and keeps no decision.
    convenience init(id: UInt64) { self.init(id: id, within: nil, heardBy: nil) }

    private init(id: UInt64, within outer: CallContext?, heardBy listener: Listener?) {
        self.id = id
        self.listener = listener
        self.outer = outer
        isHeard = listener != nil || outer?.isHeard == true
    }

    /// The number of attempts so far: the requests that transports have sent, or more where a layer observes attempts.
    ///
    /// It counts each retry and each hop of a redirection, also of a call that fails, and not the requests that other
    /// calls have sent.
    public var attempts: Int { max(sendingCount.load(ordering: .relaxed), attemptCount.load(ordering: .relaxed)) }

    /// The number of retries so far, of all requests of the call.
    public var retries: Int { retryCount.load(ordering: .relaxed) }

    /// Whether the call has waited for the response to a request of another call.
    var hasJoined: Bool { joined.load(ordering: .relaxed) }

    /// The decisions of the layers so far, in order; read it at any time, also while the call goes on.
    public var history: [CallDecision] { state.withLock { $0.history } }

    /// Adds the time that the rest of the stack from a layer on has taken.
    func add(_ time: Duration, of layer: String, at depth: Int) {
        state.withLock { state in
            let index = state.layers.firstIndex { $0.depth <= depth } ?? state.layers.endIndex
            if index == state.layers.endIndex || state.layers[index].depth < depth {
                state.layers.insert(MeasuredLayer(depth: depth, name: layer), at: index)
            }
            state.layers[index].total += time
            state.layers[index].sends += 1
        }
        outer?.add(time, of: layer, at: depth)
    }

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
            if let listener = next.listener {
                var decision = decision
                if let start = listener.start { decision.time = listener.clock.map { start.duration(to: $0.now) } }
                next.keep(decision, upTo: listener.limit)
                listener.sink?(decision)
            }
            context = next.outer
        }
    }

    private func keep(_ decision: CallDecision, upTo limit: Int) {
        guard limit > 0 else { return }
        state.withLock { if $0.history.count < limit { $0.history.append(decision) } }
    }

    /// Reads the origin that a layer further in has given to the relative request of the call, the times of the layers, the
    /// outermost first, and the history.
    func withFacts(_ read: (AskedOrigin?, [MeasuredLayer], [CallDecision]) -> Void) {
        state.withLock { read($0.origin, $0.layers, $0.history) }
    }

    func resolve(to origin: AskedOrigin) {
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

    /// Notes that the call waits for the response to a request of another call.
    func join(by layer: String) {
        note(CallDecision(.joins, by: layer, "an identical request is under way"))
        var context: CallContext? = self
        while let next = context {
            next.joined.store(true, ordering: .relaxed)
            context = next.outer
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
        note(.sending(head, number))
    }

    private func countSending() -> Int {
        let number = sendingCount.wrappingAdd(1, ordering: .relaxed).newValue
        return outer?.countSending() ?? number
    }
}

/// The time of a stack from one of its layers on, until the heads of responses have arrived.
struct MeasuredLayer: Sendable {
    /// The number of layers from this one on.
    let depth: Int
    let name: String
    var total = Duration.zero
    /// The number of requests that reached the layer.
    var sends = 0
}

extension RequestOptions {
    /// Gives a call without a context one before its request is sent for the first time, if a layer further in has to know the
    /// user of an earlier request of the call.
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
public struct CallDecision: Sendable, Hashable, Codable {
    /// The kind of a decision, as an open set.
    public struct Kind: Sendable, Hashable, TextCodable {
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
    /// The outcome of the attempt that led to the decision, as in `503`; nil where none has ended with it.
    public var outcome: String?
    /// The origin that a request is sent to; nil for other decisions.
    public var origin: Origin?
    /// The time since the call began; nil if its context has no clock.
    public var time: Duration?
    /// Of two requests under way, the number of the one whose outcome the caller gets; nil for other decisions.
    package var winner: Int?

    /// Creates a decision.
    ///
    /// - Parameters:
    ///   - kind: The kind of the decision.
    ///   - layer: The name of the layer.
    ///   - words: The decision with its reason, in words without secrets.
    ///   - delay: The time that the layer is going to wait.
    ///   - outcome: The outcome of the attempt that led to the decision.
    public init(
        _ kind: Kind, by layer: String, _ words: String, waiting delay: Duration? = nil, after outcome: String? = nil
    ) {
        (self.kind, self.layer, self.words, self.delay, self.outcome) = (kind, layer, words, delay, outcome)
    }

    fileprivate static func sending(_ head: HTTPRequest, _ number: Int) -> CallDecision {
        let origin = try? Origin(head)
        let place = origin?.description ?? "without an origin"
        var decision = CallDecision(.sends, by: "transport", "request \(number): \(head.method) \(place)")
        decision.origin = origin
        return decision
    }
}

extension CallDecision: CustomStringConvertible {
    /// The name of the layer, and the words.
    public var description: String { "\(layer): \(words)" }
}

/// The attempts of a request so far.
struct RetryHistory: Sendable {
    /// The number of retries, of which one may have been made at once.
    var retries = 0
    /// Whether one was made at once, without the budget.
    var hasSentAtOnce = false
    /// The number of retries from the budget.
    var paidRetries: Int { hasSentAtOnce ? retries - 1 : retries }
    /// The attempts that have ended; layers further in may make several for one attempt of the layer.
    private(set) var attempts = 0
    /// The decisions to send again, with the outcomes in a few words each, as in "503"; the first ten.
    private(set) var decisions: [CallDecision] = []
    /// The time that was waited between the attempts.
    private(set) var waited = Duration.zero
    /// The time from the start of the first attempt to the last outcome; nil on a clock that skips sleeps.
    private(set) var elapsed: Duration?
    /// The attempt that is about to be sent, for the log of attempts.
    private(set) var next = ""
    /// The instant of that attempt; nil for at once.
    private(set) var nextStart: ContinuousClock.Instant?
    /// The change of the options for that attempt.
    var nextChange: OptionsChange?
    private var start: ContinuousClock.Instant?

    static let limit = 10

    /// Notes the end of an attempt; the first one determines when the call began, by the time that it took.
    mutating func noteEnd(at now: ContinuousClock.Instant, after elapsed: Duration?) {
        let start = start ?? now - (elapsed ?? .zero).bounded
        self.start = start
        self.elapsed = start.duration(to: now)
    }

    /// Adds an attempt after which the request is sent again, at an instant, or at once with nil.
    mutating func add(_ attempts: Int, _ decision: CallDecision, until instant: ContinuousClock.Instant?, of limit: Int)
    {
        self.attempts += attempts
        if decisions.count < Self.limit { decisions.append(decision) }
        retries += 1
        if instant == nil { hasSentAtOnce = true }
        nextStart = instant
        let wait = decision.delay ?? .zero
        waited += wait
        let pause = wait > .zero ? ", waited \(wait.shortText)" : ""
        next = "attempt \(retries + 1) of \(max(limit, retries + 1)), after \(decision.outcome ?? "an attempt")\(pause)"
    }
}
