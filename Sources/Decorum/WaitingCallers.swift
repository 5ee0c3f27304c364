/// The callers who wait for a request that is sent for all of them, each with a deadline of its own.
///
/// Their deadlines do not travel into the request, which may go on after the deadline of one of them. So a layer that
/// sends it again asks here how long it may wait.
protocol WaitingCallers: AnyObject, Sendable {
    /// The latest deadline of the callers; nil if one of them has none.
    var lastDeadline: ContinuousClock.Instant? { get }

    /// Tells the number of attempts that have ended, since the request is sent again.
    func note(attempts: Int)
}

extension RequestOptions {
    /// The callers who wait for the request; nil if it is sent for one caller.
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
