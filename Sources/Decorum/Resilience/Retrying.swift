import HTTPTypes

extension Connection {
    /// Sends a request again after a temporary failure.
    ///
    /// By default, a request is sent again up to three times after a status of 429, 500, 502, 503 or 504, and after a
    /// failure that may pass, such as a lost connection. Once more, it is sent again at once, where the server has certainly
    /// not processed it, or its used connection was lost. So it is sent up to five times, as ``Connection/bounds`` counts.
    /// Its method must be idempotent, or it must have an `Idempotency-Key`; and its body can be read again. If no server has carried it out, as with a refused connection,
    /// any method is sent again. ``RetryPolicy/when`` takes other rules:
    ///
    /// ```swift
    /// let limited: RetryRule = .field("Retry-After") || .field("X-RateLimit-Remaining", is: "0")
    /// let connection = SystemConnection()
    ///     .retrying(RetryPolicy(retries: 2, when: .standard || .status(403) && limited))
    /// ```
    ///
    /// The wait is the time in `Retry-After`, in seconds or as a date, which counts from the `Date` of the response, or the
    /// time until a used rate limit is renewed (`RateLimit`, `X-RateLimit-Reset`), plus a random part of up to half of it, at least 1 second and at most 20, so
    /// that clients which were given one date do not all come back in one second. Without such a field, the wait is a
    /// random part of a time that doubles with each retry ("full jitter"). A response that asks for a longer wait than
    /// ``RetryPolicy/maximumRetryAfter`` is returned at once. If the next attempt would start after
    /// ``RequestOptions/deadline``, the outcome of the last attempt is returned at once too. Where a layer further out
    /// sends the request for several callers, the latest of their deadlines counts, and a caller whose deadline comes
    /// before the retry does not wait for it.
    ///
    /// The body of a response that is not returned is read before the wait, so that its connection can be used again; a
    /// body of more than 16 KiB is dropped. Cancelling the task ends the wait.
    ///
    /// Each retry comes from ``RetryPolicy/budget``, which the stacks of a process share: while a server is in trouble,
    /// the retries end instead of keeping it down. The budget of each origin begins with a single retry, and five answers that
    /// need none add another. So a new app whose first call fails sends it again once, and not three times. See
    /// ``RetryBudget``. Use ``RetryPolicy/tool`` for a command.
    ///
    /// The caller gets the response or the error of the last attempt, which counts the attempts in
    /// ``TransportError/attempts``. All other responses and errors pass unchanged. A response whose body fails later is
    /// not retried, because it has been returned by then. ``RequestOptions/retryPolicy`` replaces the policy for one request.
    /// The ``CallContext/history`` of a call says why each retry was made, or was not. The description of a ``StatusError``
    /// and ``TransportError/retryRefusal`` say why there was no further one.
    ///
    /// Place it inside of redirects and caching, so that only a failed hop is repeated, and outside of authentication
    /// and signing, so that each attempt is signed again. Two of these layers in a stack multiply their attempts. See
    /// RFC 9110, sections 9.2.2 and 10.2.3.
    ///
    /// - Parameters:
    ///   - policy: Which requests to send again, how often, and how long to wait.
    ///   - clock: The clock that waits and has the date from which times count in responses without `Date`.
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
    // Instants of different clocks cannot be compared, so the budget of the process is one of the system's clock.
    let accounts: RetryAccounts
    private let baseMayChangeUser: Bool

    init(base: Base, policy: RetryPolicy, clock: any DatedClock, generator: any RandomGenerator) {
        self.base = base
        self.policy = policy
        self.clock = clock
        self.generator = generator
        baseMayChangeUser = base.mayChangeUser
        accounts = clock is SystemClock ? .ofProcess : RetryAccounts()
    }

    var layer: Layer {
        Layer(
            name: "retrying", role: .resilience, settings: policy.layerSettings,
            facts: policy.layerFacts.union(Layer.facts(of: clock)),
            sending: .init(policy.sends, methods: policy.methods.subtracting(RetryPolicy.idempotentMethods)),
            time: .init(waiting: policy.longestWait, reading: policy.longestReading),
            memory: .init(state: accounts(of: policy.budget).map { [Layer.StateIdentity($0)] } ?? []))
    }

    // Nearly every response is returned here: what a retry needs is in functions of its own, since an instant costs an
    // allocation in each asynchronous function that has one.
    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        guard request.body.replay > .once || request.body.isEmpty else { return try await sendOnce(request) }
        request.options.beginCall(ifNeeded: baseMayChangeUser)
        let outcome: Result<Response, any Error>
        do {
            let response = try await base.send(copy request)
            if isLast(response.head, to: request) { return response }
            outcome = .success(consume response)
        } catch {
            outcome = .failure(error)
        }
        return try await sendAgain(request, after: consume outcome)
    }

    private func isLast(_ response: borrowing HTTPResponse, to request: borrowing Request) -> Bool {
        // A policy is large, so that of the layer is not copied.
        if !request.options.values.isEmpty, let own = request.options.retryPolicy {
            return isLast(response, to: request.head, by: own)
        }
        return isLast(response, to: request.head, by: policy)
    }

    /// Whether the status alone shows that a first response needs no retry; if so, it is noted as an answer.
    private func isLast(
        _ response: borrowing HTTPResponse, to head: borrowing HTTPRequest, by policy: borrowing RetryPolicy
    ) -> Bool {
        if response.code >= policy.lowestStatus {
            guard let statuses = policy.statuses, !statuses.contains(response.status) else { return false }
        }
        noteAnswer(to: head, in: policy.budget, isNewCall: true)
        return true
    }

    /// Sends a request again for as long as its outcome needs it.
    private func sendAgain(
        _ request: consuming Request, after outcome: consuming Result<Response, any Error>
    ) async throws -> Response {
        var tally = RetryTally()
        while true {
            switch try await verdict(on: consume outcome, to: request, tally: &tally) {
            case .answer(let response):
                return response
            case .retry(let instant, let number):
                if let instant {
                    try await clock.sleep(until: instant, tolerance: nil)
                }
                try Task.checkCancellation()
                request.options = request.options.travelling(.attempts)
                request.options.retryNumber = number
                request.options.callContext?.addRetry()
            }
            do {
                outcome = .success(try await base.send(copy request))
            } catch {
                outcome = .failure(error)
            }
        }
    }

    /// Sends a request whose body is gone afterwards.
    private func sendOnce(_ request: consuming Request) async throws -> Response {
        let head = request.head
        let options = request.options
        let isRefused = { (result: Result<HTTPResponse, any Error>) in
            let attempt = RetryAttempt(request: head, options: options, result: result, retries: 0)
            guard (options.retryPolicy ?? policy).when.isMet(by: attempt) else { return false }
            options.callContext?.note(attempt.decisionToGiveUp(.bodyReadOnce))
            return true
        }
        do {
            let response = try await base.send(request)
            return isRefused(.success(response.head)) ? response.refusedRetry(because: .bodyReadOnce) : response
        } catch {
            throw isRefused(.failure(error)) ? TransportError.refusedRetry(error, because: .bodyReadOnce) : error
        }
    }
}
