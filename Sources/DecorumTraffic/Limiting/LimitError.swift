public import Decorum
import Foundation

/// A request that `limiting(_:in:clock:spawner:)` did not let through, or has ended.
///
/// Unless a request was on its way when it was cancelled, nothing was sent (``meansNotProcessed``). A cache may answer with a
/// stale response, and `retrying` waits for ``earliestRetry`` if its policy allows that.
public struct LimitError: DescribableError, Sendable, Hashable {
    /// The reason why a request was not let through, as an open set.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// The name of the reason.
        public let description: String

        /// As many requests wait as the policy allows, and the request is the least important one.
        public static let queueFull = Reason(description: "queueFull")
        /// The request could not be answered in its time, as the present waits and latencies show.
        public static let tooLate = Reason(description: "tooLate")
        /// The time to wait was over.
        public static let timeOver = Reason(description: "timeOver")
        /// ``RequestLimiter/cancelAll(reason:in:)`` was called.
        public static let cancelled = Reason(description: "cancelled")
        /// The limit is zero or less.
        public static let closed = Reason(description: "closed")
    }

    /// The reason.
    public let reason: Reason
    /// The requests that share the limits: an origin, a group, or all requests.
    public let key: String
    /// The number of requests that waited for the same limits, when this one failed.
    public let waiting: Int
    /// The number of requests on their way within the same limits, when this one failed.
    public let running: Int
    /// The time after which the request could be sent, as the latest answers let expect; nil if nothing is known.
    public let wait: Duration?
    /// The instant after that time; nil if nothing is known.
    public let earliestRetry: ContinuousClock.Instant?
    /// The reason that was given to ``RequestLimiter/cancelAll(reason:in:)``; nil for any other reason.
    public internal(set) var words: String?
    /// Whether the request was on its way, so that the server may have carried it out.
    public internal(set) var wasSent = false

    /// The requests that share the limits, the reason, and the remedy.
    public var description: String {
        let event = "The request was \(wasSent ? "ended" : "not sent"), because"
        let again = wait.map { "Send it again in \($0.shortText)." } ?? "Send it again later."
        return switch reason {
        case .queueFull:
            "\(event) \(waiting) others wait for the limits of \(key), and none is less important. \(again)"
        case .tooLate:
            "\(event) it could not be answered in its time: \(waiting) wait and \(running) run at the limits of \(key). "
                + "\(again)"
        case .timeOver:
            "\(event) its time was over while \(waiting) waited and \(running) ran at the limits of \(key). "
                + "If nothing else goes on, read or drop the bodies of earlier responses, or use `releasesAtHead`."
        case .closed: "\(event) a limit of \(key) is zero or less. Use at least 1 in the `LimitPolicy`."
        default:
            "\(event) all requests were cancelled: \(words ?? "no reason"). Send it again if it is still wanted."
        }
    }

    /// The name of the type and the reason.
    public var shortDescription: String { "LimitError.\(reason)" }
}

extension LimitError: ReachabilityError, TemporaryError {
    /// Whether the same request may be let through later; false if the app has cancelled it, and for a limit of zero.
    public var mayPass: Bool { reason != .cancelled && reason != .closed }
    /// Whether a limit has held the request back; false if the app has cancelled it, and for a limit of zero.
    public var meansServerNotReached: Bool { mayPass }
    /// Whether nothing was sent.
    public var meansNotProcessed: Bool { !wasSent }
}
