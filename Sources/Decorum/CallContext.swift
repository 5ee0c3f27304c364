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
public final class CallContext: Sendable {
    /// The identifier of the call.
    public let id: UInt64
    private let limit: Int
    private let count = Atomic(0)
    private let retryCount = Atomic(0)
    private let state = Mutex(State())

    private struct State {
        var origin: Origin?
        var history: [CallDecision] = []
    }

    /// Creates the context of a call.
    ///
    /// - Parameters:
    ///   - id: The identifier.
    ///   - limit: The number of decisions to keep in ``history``; those after them are dropped.
    public init(id: UInt64 = SystemGenerator().next(), keepingHistory limit: Int = 0) {
        self.id = id
        self.limit = limit
    }

    /// The number of attempts so far, where a layer observes attempts.
    public var attempts: Int { count.load(ordering: .relaxed) }

    /// The number of retries so far, of all requests of the call.
    public var retries: Int { retryCount.load(ordering: .relaxed) }

    /// The decisions of the layers so far, in order; empty where the context was made without a history.
    public var history: [CallDecision] { state.withLock { $0.history } }

    /// Tells a decision of a layer with its reason.
    ///
    /// The decision is not made where no one keeps or observes it, so telling one costs nothing then.
    ///
    /// - Parameter decision: The decision.
    public func note(_ decision: @autoclosure () -> CallDecision) {
        guard limit > 0 else { return }
        let decision = decision()
        state.withLock { state in
            if state.history.count < limit { state.history.append(decision) }
        }
    }

    /// The origin that a layer further in has given to the relative request of the call; nil where none did so yet.
    var origin: Origin? { state.withLock { $0.origin } }

    func resolve(to origin: Origin) {
        state.withLock { $0.origin = $0.origin ?? origin }
    }

    func addRetry() {
        retryCount.wrappingAdd(1, ordering: .relaxed)
    }

    func nextAttempt() -> Int {
        count.wrappingAdd(1, ordering: .relaxed).newValue
    }
}

/// A decision of one layer about a call, with its reason, as in "retrying: waits 2 s, because of 503 with Retry-After 2".
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

        /// The layer waits before it goes on.
        public static let waits = Kind("waits")
        /// The layer returns the outcome that it has, although it could have tried further.
        public static let givesUp = Kind("gives up")
        /// The layer sends a request to another URL.
        public static let redirects = Kind("redirects")
        /// The layer answers without forwarding the request.
        public static let answers = Kind("answers")
        /// The layer forwards the request, although it could have answered.
        public static let forwards = Kind("forwards")
    }

    /// The kind of the decision.
    public var kind: Kind
    /// The name of the layer, as in ``Layer/name``.
    public var layer: String
    /// The decision with its reason, in words without secrets.
    public var words: String

    /// Creates a decision.
    ///
    /// - Parameters:
    ///   - kind: The kind of the decision.
    ///   - layer: The name of the layer.
    ///   - words: The decision with its reason, in words without secrets.
    public init(_ kind: Kind, by layer: String, _ words: String) {
        self.kind = kind
        self.layer = layer
        self.words = words
    }
}

extension CallDecision: CustomStringConvertible {
    /// The name of the layer, and the words.
    public var description: String { "\(layer): \(words)" }
}

extension RequestOptions {
    /// The identifier that all events of this request's call share; nil where no layer observes calls.
    public var callID: UInt64? { callContext?.id }

    /// The number of this attempt within its call, from 1; nil where no layer observes attempts.
    public var attemptNumber: Int? { attempt }

    mutating func beginAttempt(of call: CallContext) -> Int {
        let number = call.nextAttempt()
        attempt = number
        return number
    }
}
