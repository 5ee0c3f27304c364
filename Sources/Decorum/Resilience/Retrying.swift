import HTTPTypes

extension Connection {
    /// Sends a request again when it failed in a way that may pass.
    ///
    /// A request is sent again after a status or a transport failure that `policy` names, if its method is idempotent
    /// or it has an `Idempotency-Key`, and if its body can be read again. After a failure before anything was sent,
    /// such as a refused connection, the method does not count.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .retrying(RetryPolicy(retries: 2))
    /// ```
    ///
    /// The wait is what `Retry-After` says, in seconds or as a date. Where the field is missing, cannot be read or
    /// names a date in the past, it is a random part of a time that doubles with each retry ("full jitter"). A response
    /// that asks for a longer wait than ``RetryPolicy/maximumRetryAfter`` is returned at once. The body of a response
    /// that is not returned is read up to 16 KiB before the wait, so that its connection can be used again, or dropped.
    /// Cancelling the task ends the wait.
    ///
    /// What the last attempt brought, be it a response or an error, reaches the caller as it is. All other responses
    /// and errors pass through. So does a response whose body is cut short later on: it has been returned by then.
    /// ``RequestOptions/retryPolicy`` replaces the policy for one request.
    ///
    /// It belongs inside of redirects and caching, so that a failed hop is repeated and not the whole way, and outside
    /// of authentication and signing, so that each attempt is signed anew. Two of them in a stack multiply their
    /// attempts. See RFC 9110, sections 9.2.2 and 10.2.3.
    ///
    /// - Parameters:
    ///   - policy: What to send again, how often, and how long to wait.
    ///   - clock: Tells the date that `Retry-After` is compared with, and waits.
    ///   - generator: Draws the random part.
    /// - Returns: A connection whose responses tell in ``ResponseMetadata/attempts`` how often they were asked for.
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
                // Nearly every response ends here, without a look at anything but its status.
                guard isRetried(response.status, options: request.options) else { return tally.end(with: response) }
                outcome = .success(response)
            } catch {
                outcome = .failure(error)
            }
            let policy = request.options.retryPolicy ?? policy
            switch try await verdict(on: consume outcome, to: request.head, tally: &tally, policy: policy) {
            case .answer(let response):
                return response
            case .retry(let instant):
                try await clock.sleep(until: instant, tolerance: nil)
                try Task.checkCancellation()
            }
        }
    }

    private func isRetried(_ status: HTTPResponse.Status, options: RequestOptions) -> Bool {
        options.retryPolicy?.statuses.contains(status) ?? policy.statuses.contains(status)
    }

    /// Performs what is decided about an outcome, except for the wait.
    ///
    /// A response that is not returned ends its life in here: its transfer must not be held while nothing happens.
    private func verdict(
        on outcome: consuming Result<Response, any Error>, to request: HTTPRequest, tally: inout RetryTally,
        policy: RetryPolicy
    ) async throws -> RetryVerdict {
        switch consume outcome {
        case .failure(let error):
            let decision = RetryDecision.after(error, to: request, retries: tally.retries, policy: policy)
            guard let delay = delay(of: decision) else { throw error }
            tally.add(attempts: 1)
            return .retry(clock.now + delay)
        case .success(let response):
            let decision = RetryDecision.after(
                response.head, to: request, at: clock.date, retries: tally.retries, policy: policy)
            guard let delay = delay(of: decision) else { return .answer(tally.end(with: response)) }
            let instant = clock.now + delay
            tally.add(attempts: response.metadata.attempts)
            try await response.body.discard(on: clock)
            return .retry(instant)
        }
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
    /// The attempts so far, of which layers further in may make several for one of this layer.
    private(set) var attempts = 0

    mutating func add(attempts: Int) {
        self.attempts += attempts
        retries += 1
    }

    /// Tells in the last response how often it was asked for.
    func end(with response: consuming Response) -> Response {
        if attempts > 0 { response.metadata.attempts += attempts }
        return response
    }
}
