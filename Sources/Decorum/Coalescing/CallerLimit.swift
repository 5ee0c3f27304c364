/// The deadline of a caller who waits for a request that another caller has sent.
final class CallerLimit: TimeLimited {
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
}
