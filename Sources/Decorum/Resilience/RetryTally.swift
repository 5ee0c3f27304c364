/// The decision about the outcome of an attempt, carried out but for the wait.
enum RetryVerdict {
    case answer(Response)
    case retry(ContinuousClock.Instant?)
}

/// The next step after an attempt; an instant to wait for, or none where the request is sent again at once.
enum RetryStep {
    case finish
    case giveUp(RetryRefusal)
    case retry(ContinuousClock.Instant?, isFree: Bool)

    var instant: ContinuousClock.Instant? {
        if case .retry(let instant, _) = self { instant } else { nil }
    }
}

/// The attempts of one call, and what its retries have used up.
struct RetryTally {
    private(set) var state = RetryState()
    /// The attempts so far; layers further in may make several for one attempt of this layer.
    private(set) var attempts = 0

    /// Whether no attempt has ended before.
    var isNewCall: Bool { attempts == 0 }

    mutating func add(attempts: Int, _ step: RetryStep) {
        self.attempts += attempts
        if case .retry(_, isFree: true) = step { state.hasSentUnprocessed = true } else { state.retries += 1 }
    }

    /// Adds the number of attempts to the last response.
    func end(with response: consuming Response) -> Response {
        if attempts > 0 { response.metadata.attempts += attempts }
        return response
    }

    /// Adds the number of attempts to the last error.
    func end(with error: any Error) -> any Error {
        guard attempts > 0, var error = error as? TransportError else { return error }
        error.attempts += attempts
        return error
    }
}
