import HTTPTypes

extension Connection {
    /// Sends a request again after a temporary failure.
    ///
    /// A request is sent again after a status or a transport failure that `policy` names, if its method is idempotent
    /// or it has an `Idempotency-Key`, and if its body can be read again. If nothing was sent before the failure, as
    /// with a refused connection, any method is sent again.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .retrying(RetryPolicy(retries: 2))
    /// ```
    ///
    /// The wait is the time in `Retry-After`, in seconds or as a date. If the field is missing, invalid or names a date
    /// in the past, the wait is a random part of a time that doubles with each retry ("full jitter"). A response that
    /// asks for a longer wait than ``RetryPolicy/maximumRetryAfter`` is returned at once. The body of a response that
    /// is not returned is read before the wait, so that its connection can be used again; a body of more than 16 KiB is
    /// dropped. Cancelling the task ends the wait.
    ///
    /// The caller gets the response or the error of the last attempt, which counts the attempts in
    /// ``TransportError/attempts``. All other responses and errors pass unchanged. A response whose body fails later is
    /// not retried, because it has been returned by then.
    /// ``RequestOptions/retryPolicy`` replaces the policy for one request.
    ///
    /// Place it inside of redirects and caching, so that only a failed hop is repeated, and outside of authentication
    /// and signing, so that each attempt is signed again. Two of these layers in a stack multiply their attempts. See
    /// RFC 9110, sections 9.2.2 and 10.2.3.
    ///
    /// - Parameters:
    ///   - policy: Which requests to send again, how often, and how long to wait.
    ///   - clock: The clock that waits and has the date that `Retry-After` is compared with.
    ///   - generator: The source of the random part.
    /// - Returns: A connection whose responses count the requests that were sent in ``ResponseMetadata/attempts``.
    public func retrying(
        _ policy: RetryPolicy = .standard,
        clock: any DatedClock = SystemClock(),
        generator: any RandomGenerator = SystemGenerator()
    ) -> some Connection {
        RetryingConnection(base: self, policy: policy, clock: clock, generator: generator)
    }
}

struct RetryingConnection<Base: Connection>: ComposedConnection {
    let base: Base
    let policy: RetryPolicy
    let clock: any DatedClock
    let generator: any RandomGenerator

    var layer: Layer {
        Layer(
            name: "retrying", role: .resilience, settings: [.init("retries", max(0, policy.retries))],
            facts: [.resends, .readsClock])
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard request.body.replay > .once || request.body.isEmpty else { return try await base.send(request) }
        var tally = RetryTally()
        while true {
            let outcome: Result<Response, any Error>
            do {
                let response = try await base.send(copy request)
                // Nearly every response is returned here, where only its status is read.
                guard isRetried(response.status, options: request.options) else { return tally.end(with: response) }
                outcome = .success(response)
            } catch {
                outcome = .failure(error)
            }
            let policy = request.options.retryPolicy ?? policy
            let verdict = try await verdict(
                on: consume outcome, to: request.head, until: request.options.deadline, tally: &tally, policy: policy)
            switch verdict {
            case .answer(let response):
                return response
            case .retry(let instant):
                try await clock.sleep(until: instant, tolerance: nil)
                try Task.checkCancellation()
                request.options.callContext?.addRetry()
            }
        }
    }

    private func isRetried(_ status: HTTPResponse.Status, options: RequestOptions) -> Bool {
        options.retryPolicy?.statuses.contains(status) ?? policy.statuses.contains(status)
    }

    /// Decides about an outcome and carries out the decision, except for the wait.
    ///
    /// A response that is not returned is consumed here: its transfer must end before the wait.
    private func verdict(
        on outcome: consuming Result<Response, any Error>, to request: HTTPRequest,
        until deadline: ContinuousClock.Instant?, tally: inout RetryTally, policy: RetryPolicy
    ) async throws -> RetryVerdict {
        switch consume outcome {
        case .failure(let error):
            let decision = RetryDecision.after(error, to: request, retries: tally.retries, policy: policy)
            guard let delay = delay(of: decision), mayWait(for: delay, until: deadline) else {
                throw tally.end(with: error)
            }
            tally.add(attempts: (error as? TransportError)?.attempts ?? 1)
            return .retry(clock.now + delay)
        case .success(let response):
            let decision = RetryDecision.after(
                response.head, to: request, at: clock.date, retries: tally.retries, policy: policy)
            guard let delay = delay(of: decision), mayWait(for: delay, until: deadline) else {
                return .answer(tally.end(with: response))
            }
            let instant = clock.now + delay
            tally.add(attempts: response.metadata.attempts)
            try await response.body.discard(until: deadline, on: clock)
            return .retry(instant)
        }
    }

    private func mayWait(for delay: Duration, until deadline: ContinuousClock.Instant?) -> Bool {
        deadline.map { clock.now + delay < $0 } ?? true
    }

    private func delay(of decision: RetryDecision) -> Duration? {
        switch decision {
        case .giveUp: nil
        case .wait(let delay): delay
        case .waitWithin(let longest): longest * generator.uniform()
        }
    }
}

private enum RetryVerdict {
    case answer(Response)
    case retry(ContinuousClock.Instant)
}

private struct RetryTally {
    private(set) var retries = 0
    /// The attempts so far; layers further in may make several for one attempt of this layer.
    private(set) var attempts = 0

    mutating func add(attempts: Int) {
        self.attempts += attempts
        retries += 1
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
