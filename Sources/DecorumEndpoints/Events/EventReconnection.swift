import Decorum

/// The rules by which a stream of events that has broken is connected again.
///
/// If the first connection fails, the stream fails at once, since `retrying` repeats such requests. If a stream has
/// begun, and then ends or breaks, it is connected again by a request with `Last-Event-ID`. So the server goes on after
/// the last complete event.
public struct EventReconnection: Sendable, Hashable {
    /// The time before the first attempt, unless the server has asked for another time with `retry`: 3 s.
    ///
    /// No wait is shorter than a tenth of a second, whoever asks for it.
    public var wait: Duration = .seconds(3)
    /// The longest time to which repeated failures let the wait grow: a minute.
    ///
    /// Each connection that ends without an event doubles the wait. A longer time that the server asks for holds.
    public var longestWait: Duration = .seconds(60)
    /// The longest time of a server's `retry` that is heeded: ten minutes.
    public var longestAskedWait: Duration = .seconds(600)
    /// The largest random addition to the wait, as a share of the wait: a half.
    ///
    /// It keeps clients from connecting again
    /// at the same moment.
    public var jitter = 0.5
    /// The number of connections in a row that may end without an event before the stream fails; nil for any number, as
    /// the standard has it.
    public var attempts: Int?
    /// Whether requests with other methods than `GET` are sent again too.
    ///
    /// An answer of a language model to a `POST` is such a stream: each request would make another answer.
    public var repeatsUnsafeMethods = false
    private let isOn: Bool

    /// Creates the rules of the standard: any number of attempts, for `GET` alone.
    public init() {
        isOn = true
    }

    private init(isOn: Bool) {
        self.isOn = isOn
    }

    /// The rules of the standard: any number of attempts, for `GET` alone.
    public static let standard = EventReconnection()
    /// The stream ends with the first response.
    public static let never = EventReconnection(isOn: false)
}

extension EventReconnection {
    /// The next step after a stream has ended or broken.
    enum Decision: Equatable {
        case end
        case fail
        case connect(after: Duration)
    }

    /// Whether requests like this one are sent again.
    func repeats(_ request: Request) -> Bool {
        isOn && request.body.replay != .once && (request.head.method == .get || repeatsUnsafeMethods)
    }

    /// Decides after a stream has ended or broken.
    ///
    /// - Parameters:
    ///   - error: The error; nil where the server has ended the response.
    ///   - failures: The number of connections in a row, this one included, that had no event.
    ///   - asked: The time that the server has asked for.
    ///   - isRepeatable: Whether the request may be sent again.
    ///   - chance: A number from 0 to 1.
    /// - Returns: The next step.
    func decision(
        after error: (any Error)?, failures: Int, asked: Duration?, isRepeatable: Bool, chance: Double
    ) -> Decision {
        guard isRepeatable else { return error == nil ? .end : .fail }
        if let error, !Self.mayPass(error) { return .fail }
        if let attempts, failures > max(0, attempts) { return .fail }
        return .connect(after: wait(failures: failures, asked: asked, chance: chance))
    }

    private static let shortestWait = Duration.milliseconds(100)

    /// The wait: it doubles with each failure after the first, and is never shorter than the server asks for.
    func wait(failures: Int, asked: Duration?, chance: Double) -> Duration {
        // A server may ask for no wait, but one that ends each connection at once is not asked without a pause.
        let first = max(Self.shortestWait, asked.map { min($0, longestAskedWait) } ?? wait).bounded
        let doublings = min(max(0, failures - 1), 30)
        let grown = min(first * (1 << doublings), max(first, longestWait)).bounded
        return grown + grown * (min(max(0, jitter), 1000) * chance)
    }

    /// Whether another connection may succeed: the errors that may pass, and each break of a body but those of its form.
    private static func mayPass(_ error: any Error) -> Bool {
        if let error = error as? TransportError, error.stage == .body {
            return error.code != .undecodableContent && error.code != .closed
        }
        return (error as? any TemporaryError)?.mayPass ?? false
    }
}
