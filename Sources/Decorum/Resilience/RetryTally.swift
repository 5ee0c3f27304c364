/// The decision about the outcome of an attempt, carried out but for the wait.
enum RetryVerdict {
    case answer(Response)
    case retry(ContinuousClock.Instant?, RetryNumber)
}

/// The next step after an attempt; an instant to wait for, or none where the request is sent again at once.
enum RetryStep {
    case finish
    case giveUp(RetryRefusal)
    case retry(ContinuousClock.Instant?, wait: Duration, isFree: Bool)
}

/// The attempts of one call, and what its retries have used up.
struct RetryTally {
    private(set) var state = RetryState()
    /// The attempts so far; layers further in may make several for one attempt of this layer.
    private(set) var attempts = 0
    private var sendings = 1
    private var start: ContinuousClock.Instant?
    private var record = RetryRecord()

    /// Whether no attempt has ended before.
    var isNewCall: Bool { attempts == 0 }

    /// Notes the end of an attempt; the first one determines when the call began, by the time that it took.
    mutating func note(endOn clock: some DatedClock, after elapsed: Duration?) {
        guard !clock.skipsSleeps else { return }
        let now = clock.now
        let start = start ?? now - (elapsed ?? .zero).bounded
        self.start = start
        record.elapsed = start.duration(to: now)
    }

    /// Adds an attempt after which the request is sent again.
    ///
    /// - Parameters:
    ///   - attempts: The attempts that layers further in have made of it.
    ///   - outcome: Its outcome in a few words.
    ///   - wait: The wait after it.
    ///   - isFree: Whether the next attempt counts as no retry.
    ///   - retries: The largest number of retries.
    /// - Returns: The next attempt.
    mutating func add(
        attempts: Int, _ outcome: String, thenWaiting wait: Duration, isFree: Bool, upTo retries: Int
    ) -> RetryNumber {
        self.attempts += attempts
        sendings += 1
        record.add(outcome, thenWaiting: wait)
        if isFree { state.hasSentUnprocessed = true } else { state.retries += 1 }
        return RetryNumber(
            attempt: sendings, limit: retries.addingReportingOverflow(state.hasSentUnprocessed ? 2 : 1).partialValue,
            outcome: outcome, wait: wait)
    }

    /// Adds the attempts before it to the last response.
    func end(with response: consuming Response) -> Response {
        guard attempts > 0 else { return response }
        response.metadata.attempts += attempts
        response.metadata.retryRecord = record
        return response
    }

    /// Adds the attempts before it to the last error.
    func end(with error: any Error) -> any Error {
        guard attempts > 0, var error = error as? TransportError else { return error }
        error.attempts += attempts
        error.totalElapsed = record.elapsed
        return error
    }
}
