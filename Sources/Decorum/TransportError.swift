import Foundation

/// A failure to get an answer, or the whole of one, from a server.
///
/// Every transport throws this one type, with the most precise code that its platform can tell. A status such as 503
/// is not a failure; cancellation is `CancellationError`.
public struct TransportError: DescribableError, Sendable {
    /// What went wrong, as an open set.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code: one of a small number, fit for a metric.
        public let description: String

        /// Creates a code of your own.
        ///
        /// - Parameter description: The name of the code.
        public init(_ description: String) {
            self.description = description
        }

        /// No server listens at the host and port.
        public static let connectionRefused = Code("connectionRefused")
        /// The host's name has no address.
        public static let hostNotFound = Code("hostNotFound")
        /// The host cannot be reached, or this machine has no network.
        public static let unreachable = Code("unreachable")
        /// Nothing was heard for as long as the idle timeout allows.
        public static let timedOut = Code("timedOut")
        /// The connection broke or was closed before the answer was complete.
        public static let connectionLost = Code("connectionLost")
        /// The body ended before its length, or before its last chunk.
        public static let truncated = Code("truncated")
        /// The answer is not HTTP, or breaks its rules.
        public static let malformedResponse = Code("malformedResponse")
        /// The secure connection could not be made: the certificate is not trusted, or the two sides do not agree.
        public static let tls = Code("tls")
        /// The content cannot be decoded, or names a coding that the platform does not know.
        public static let undecodableContent = Code("undecodableContent")
        /// The request's own body could not be read; the underlying error says why.
        public static let unreadableBody = Code("unreadableBody")
        /// The server refused the request's `Expect` with a 417, whose content the platform hides.
        public static let expectationFailed = Code("expectationFailed")
        /// The proxy answered `CONNECT` with another status than 2xx, such as `407` (RFC 9110, section 9.3.6).
        public static let proxyRefused = Code("proxyRefused")
        /// A limit was reached, such as the disk space that a slow reader may use, or the files that a process may open.
        public static let limitExceeded = Code("limitExceeded")
        /// The app has closed the transport, which sends no new requests.
        public static let closed = Code("closed")
        /// Anything that the platform does not tell apart.
        public static let other = Code("other")
    }

    /// How far an exchange had come when it failed.
    public enum Stage: Sendable, Hashable, Comparable {
        /// Before anything was sent; sending again is safe for any method.
        case connecting
        /// After the request may have been sent in part or whole, before the head of the response had arrived.
        case head
        /// While the body of the response was under way.
        case body
    }

    /// What went wrong.
    public let code: Code
    /// How far the exchange had come.
    public let stage: Stage
    /// The platform's own error, without the request's URL; nil where there is none.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: What went wrong.
    ///   - stage: How far the exchange had come.
    ///   - underlying: The platform's own error, which must not hold the request's URL or credentials.
    public init(_ code: Code, at stage: Stage, underlying: (any Error)? = nil) {
        self.code = code
        self.stage = stage
        self.underlying = underlying
    }
}

extension TransportError {
    /// The name of the code.
    public var shortDescription: String { code.description }

    /// A sentence with the code and the stage.
    public var description: String {
        switch stage {
        case .connecting: "The transport failed before the request was sent: \(code)."
        case .head: "The transport failed before the response's head had arrived: \(code)."
        case .body: "The transport failed within the response's body: \(code)."
        }
    }
}
