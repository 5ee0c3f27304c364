/// How long each attempt of a call may take: the values of ``Connection/limitingTime(_:as:clock:)``.
///
/// ```swift
/// let connection = SystemConnection()
///     .limitingTime(AttemptTimePolicy(.seconds(5)), as: .attempt)
///     .retrying()
///     .limitingTime(TimePolicy(call: .seconds(20)))
/// ```
public struct AttemptTimePolicy: Sendable, Hashable {
    /// The kind of request that a layer limits.
    public enum Scope: Sendable, Hashable {
        /// One attempt, inside of the layers that send again.
        case attempt
    }

    /// The time until the head of the response is there; nil for no limit.
    public var head: Duration?
    /// The idle timeout of a request that has none; nil for that of the transport.
    public var idle: Duration?

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - head: The time until the head of the response is there; nil for no limit.
    ///   - idle: The idle timeout of a request that has none.
    public init(_ head: Duration?, idle: Duration? = nil) {
        self.head = head
        self.idle = idle
    }

    /// For requests that a user waits for: 10 seconds, and 15 without a byte.
    public static let interactive = AttemptTimePolicy(.seconds(10), idle: .seconds(15))

    /// For the long answers of language models: 10 minutes, in which no byte need come.
    public static let modelAnswer = AttemptTimePolicy(.seconds(600), idle: .seconds(600))

    /// For uploads and downloads of any size: a minute without a byte, and no other limit.
    public static let transfer = AttemptTimePolicy(nil, idle: .seconds(60))
}
