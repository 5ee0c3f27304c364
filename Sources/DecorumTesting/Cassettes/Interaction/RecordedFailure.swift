/// The failure of a recorded exchange.
public struct RecordedFailure: Sendable, Hashable {
    /// The code of a `TransportError`, such as `timedOut`, or `cancelled`.
    public var kind: String
    /// The stage of the exchange at its failure: `connect`, `head` or `body`.
    public var stage: Stage

    /// The stage of an exchange at its failure.
    public enum Stage: String, Sendable, Hashable {
        /// Before anything was sent.
        case connect
        /// Before the head of a response had arrived.
        case head
        /// Within the content, after the bytes that are recorded.
        case body
    }

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - kind: The code of a `TransportError`.
    ///   - stage: The stage of the exchange at its failure.
    public init(kind: String, stage: Stage) {
        self.kind = kind
        self.stage = stage
    }
}
