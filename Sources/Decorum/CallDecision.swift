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
