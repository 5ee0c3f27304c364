/// How a recorded exchange failed.
public struct RecordedFailure: Sendable, Hashable {
    /// The code of a `TransportError`, such as `timedOut`, or `cancelled`.
    public var kind: String
    /// How far the exchange had come: `connect`, `head` or `body`.
    public var stage: Stage

    /// How far an exchange had come when it failed.
    public enum Stage: String, Sendable, Hashable {
        /// Before anything was sent.
        case connect
        /// Before the head of a response had arrived.
        case head
        /// Within the content, behind the bytes that are recorded.
        case body
    }

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - kind: The code of a `TransportError`.
    ///   - stage: How far the exchange had come.
    public init(kind: String, stage: Stage) {
        self.kind = kind
        self.stage = stage
    }
}
