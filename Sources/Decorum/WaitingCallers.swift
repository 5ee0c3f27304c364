/// The callers who wait for a request that is sent for all of them, each with a deadline of its own.
///
/// Their deadlines do not travel into the request, which may go on after the deadline of one of them. So a layer that
/// sends it again asks here how long it may wait, and tells the callers who cannot wait that long.
protocol WaitingCallers: AnyObject, Sendable {
    /// The latest deadline of the callers; nil where one of them has none.
    var lastDeadline: ContinuousClock.Instant? { get }

    /// Tells that the request is sent again, and ends the wait of the callers whose deadlines come before that.
    ///
    /// - Parameters:
    ///   - instant: The instant of the next attempt; nil where it is made at once.
    ///   - error: The error of the last attempt, with the number of attempts; nil where it has brought a response.
    ///   - attempts: The number of attempts so far.
    func willRetry(at instant: ContinuousClock.Instant?, after error: (any Error)?, attempts: Int)
}

extension RequestOptions {
    /// The callers who wait for the request; nil where it is sent for one caller.
    var waitingCallers: (any WaitingCallers)? {
        get { self[WaitingCallersKey.self] }
        set { self[WaitingCallersKey.self] = newValue }
    }

    /// Whether the wait for the response, or the reading of its body, may end before the transfer does.
    var limitsWait: Bool {
        !values.isEmpty && (deadline != nil || bodyDeadline != nil || waitingCallers != nil)
    }

    /// The instant after which no caller waits for the request; nil without such an instant.
    ///
    /// It moves to a later one when a caller with a later deadline joins. So it is for the decision whether to wait, and
    /// not for the end of an exchange.
    var lastDeadline: ContinuousClock.Instant? {
        guard let shared = waitingCallers?.lastDeadline else { return deadline }
        return deadline.map { min($0, shared) } ?? shared
    }
}

private enum WaitingCallersKey: RequestOptionKey {
    static let defaultValue: (any WaitingCallers)? = nil
    static let travels = OptionTravel.call
}
