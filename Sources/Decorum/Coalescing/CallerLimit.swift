/// The instant until which a caller of a shared request waits.
struct CallerLimit: Sendable {
    /// The deadline of the caller; nil for none.
    let deadline: ContinuousClock.Instant?
    /// The callers of a layer further out, which shares the request too; nil where there is no such layer.
    private let outer: (any WaitingCallers)?

    /// A caller who waits for ever.
    static let none = CallerLimit(RequestOptions())

    init(_ options: borrowing RequestOptions) {
        deadline = options.deadline
        outer = options.waitingCallers
    }

    /// The instant after which the caller, and each caller behind it, has left; nil without such an instant.
    var last: ContinuousClock.Instant? {
        guard let outer = outer?.lastDeadline else { return deadline }
        return deadline.map { min($0, outer) } ?? outer
    }

    /// Whether the caller itself leaves before an instant, or at it.
    func ends(before instant: ContinuousClock.Instant) -> Bool {
        deadline.map { $0 <= instant } ?? false
    }

    /// Tells the callers of the layer further out that the request is sent again.
    func willRetry(at instant: ContinuousClock.Instant?, after error: (any Error)?, attempts: Int) {
        outer?.willRetry(at: instant, after: error, attempts: attempts)
    }
}

/// The caller who sends a shared request, where it has a deadline, or callers of its own.
final class SendingCaller: Sendable {
    /// The end of the wait of the caller who sends the request.
    enum Outcome: Sendable {
        case answer(SharedAnswer)
        /// The next attempt comes after the deadline; this is the error of the last one.
        case failed(any Error)
        /// The next attempt comes after the deadline, and the last one has brought a response.
        case alone
    }

    let limit: CallerLimit
    /// The wait of the caller; nil for one without a deadline, who sends the request in its own task.
    let wait: LimitedWait<Outcome>?

    init(_ limit: CallerLimit) {
        self.limit = limit
        wait = limit.deadline.map { LimitedWait(until: $0) }
    }
}

/// The deadline of a caller who waits for a request that another caller has sent.
final class JoinedCaller: TimeLimited {
    private let request: SharedRequest
    private let number: Int
    private let deadline: ContinuousClock.Instant

    init(_ request: SharedRequest, _ number: Int, _ deadline: ContinuousClock.Instant) {
        self.request = request
        self.number = number
        self.deadline = deadline
    }

    var timeLimit: TimeLimit? { TimeLimit(at: deadline, because: .deadline) }

    func timeOut(at limit: TimeLimit) {
        request.leave(number, with: .success(.late))
    }

    func cancel() {
        request.leave(number, with: .failure(CancellationError()))
    }
}
