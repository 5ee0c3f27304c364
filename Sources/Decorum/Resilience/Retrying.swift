import HTTPTypes

extension Connection {
    /// Sends a request again after a temporary failure.
    ///
    /// By default, a request is sent again up to three times after a status of 429, 500, 502, 503 or 504, and after a
    /// failure that may pass, such as a lost connection. Once more, it is sent again at once, where the server has certainly
    /// not processed it, or its used connection was lost. So it is sent up to five times, as ``Connection/bounds`` counts.
    /// Its method must be idempotent, or it must have an `Idempotency-Key`; and its body must be readable again. If no server
    /// has carried it out, as with a refused connection, any method is sent again. ``RetryPolicy/when`` takes other rules:
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .retrying(RetryPolicy(retries: 2, when: .standard || .status(403)))
    /// ```
    ///
    /// The wait is the time in `Retry-After`, in seconds or as a date, which counts from the `Date` of the response, or the
    /// time until a used rate limit is renewed (`RateLimit`, `X-RateLimit-Reset`). A random part of up to half of it is added,
    /// at least 1 second and at most 20, so that clients which were given one date do not all come back in one second.
    /// Without such a field, the wait is a random part of a time that doubles with each retry ("full jitter"). A response
    /// that asks for a longer wait than ``RetryPolicy/maximumRetryAfter`` is returned at once. If the next attempt would
    /// start after ``RequestOptions/deadline``, the outcome of the last attempt is returned at once too. Where a layer
    /// further out sends the request for several callers, the latest of their deadlines counts.
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

    /// Whether the status alone shows that a first response needs no retry; if so, it is noted as an answer.
    private func isLast(_ response: borrowing HTTPResponse, to request: borrowing Request) -> Bool {
        // A policy is large, so the policy of the layer is not copied.
        if !request.options.values.isEmpty, let own = request.options.retryPolicy {
            guard own.when.isUnmet(byStatusOf: response) else { return false }
            noteAnswer(to: request.head, in: own.budget, isNewCall: true)
        } else {
            guard policy.when.isUnmet(byStatusOf: response) else { return false }
            noteAnswer(to: request.head, in: policy.budget, isNewCall: true)
        }
        return true
    }

    /// Sends a request again for as long as its outcome needs it.
    private func sendAgain(
        _ request: consuming Request, after outcome: consuming Result<Response, any Error>
    ) async throws -> Response {
        var history = RetryHistory()
        while true {
            if let response = try await end(of: consume outcome, to: request, &history) { return response }
            if let instant = history.nextStart { try await clock.sleep(until: instant, tolerance: nil) }
            try Task.checkCancellation()
            request.options = request.options.travelling(.attempts)
            request.options.retryHistory = history
            request.options.callContext?.addRetry()
            do {
                outcome = .success(try await base.send(copy request))
            } catch {
                outcome = .failure(error)
            }
        }
    }

    /// Decides about an outcome, and carries out the decision, except for the wait.
    ///
    /// A response that is not returned is consumed here: its transfer must end before the wait.
    ///
    /// - Returns: The response that the caller gets; nil if the request is to be sent again.
    /// - Throws: The error that the caller gets.
    private func end(
        of outcome: consuming Result<Response, any Error>, to request: Request, _ history: inout RetryHistory
    ) async throws -> Response? {
        let head = outcome.map(\.head)
        let attempt = RetryAttempt(
            request: request.head, options: request.options, result: head, retries: history.retries)
        let policy = request.options.retryPolicy ?? policy
        let failure = attempt.error as? TransportError
        var attempts = failure?.attempts ?? 1
        var elapsed = failure?.elapsed
        if case .success(let response) = outcome {
            (attempts, elapsed) = (response.metadata.attempts, response.metadata.timings?.firstByte)
        }
        let now = clock.now
        if !clock.skipsSleeps { history.noteEnd(at: now, after: elapsed) }
        switch decision(about: attempt, by: policy, history, at: now) {
        case .giveUp(let refusal):
            if refusal != .notTemporary {
                tell(.givesUp, "no retry after \(attempt.words): \(refusal)", of: attempt)
            } else if attempt.response != nil {
                noteAnswer(to: request.head, in: policy.budget, isNewCall: history.attempts == 0)
            }
            return try history.end(with: outcome, because: refusal)
        case .send(let wait, let fromBudget):
            let wait = wait.lowerBound
            let moment = wait > .zero ? "in \(wait.shortText)" : "at once"
            tell(.waits, "retry \(attempt.retries + 1) \(moment): \(attempt.words)", of: attempt, max(.zero, wait))
            // A sender that was cancelled has a successor, whose waiting callers learn nothing from this attempt.
            try Task.checkCancellation()
            history.add(
                attempts, attempt.words, thenWaiting: wait, until: fromBudget ? now + wait : nil, upTo: policy.retries)
            request.options.waitingCallers?.note(attempts: history.attempts)
            if case .success(let response) = consume outcome {
                try await response.body.discard(until: request.options.lastDeadline, on: clock)
            }
            return nil
        }
    }

    /// Decides about an attempt, draws the wait, and asks the deadline and the budget.
    private func decision(
        about attempt: RetryAttempt, by policy: RetryPolicy, _ history: RetryHistory, at now: ContinuousClock.Instant
    ) -> RetryDecision {
        let decision = policy.decision(about: attempt, after: history, at: clock.date, now: now)
        guard case .send(let range, let fromBudget) = decision else { return decision }
        let wait = fromBudget ? range.random(using: generator) : .zero
        if let last = attempt.options.lastDeadline, now + wait >= last { return .giveUp(.deadline) }
        if fromBudget {
            if case .perCall(let retries) = policy.budget.kind, attempt.retries >= retries {
                return .giveUp(.callBudgetUsed(max(0, retries)))
            }
            let refusal = accounts(of: policy.budget)?.take(
                for: attempt.request, at: now, isNewCall: history.attempts == 0, mayBeWorking: attempt.mayBeWorking)
            if let refusal { return .giveUp(refusal) }
        }
        return .send(after: wait...wait, fromBudget: fromBudget)
    }

    private func tell(_ kind: CallDecision.Kind, _ words: String, of attempt: RetryAttempt, _ wait: Duration? = nil) {
        attempt.options.callContext?.note(CallDecision(kind, by: "retrying", words, waiting: wait))
    }

    /// Sends a request whose body is gone afterwards.
    private func sendOnce(_ request: consuming Request) async throws -> Response {
        let head = request.head
        let options = request.options
        let outcome: Result<Response, any Error>
        do {
            outcome = .success(try await base.send(request))
        } catch {
            outcome = .failure(error)
        }
        let attempt = RetryAttempt(request: head, options: options, result: outcome.map(\.head), retries: 0)
        guard (options.retryPolicy ?? policy).when.isMet(by: attempt) else { return try outcome.get() }
        tell(.givesUp, "no retry after \(attempt.words): \(RetryRefusal.bodyReadOnce)", of: attempt)
        return try RetryHistory().end(with: outcome, because: .bodyReadOnce)
    }

    private func noteAnswer(to request: borrowing HTTPRequest, in budget: RetryBudget, isNewCall: Bool) {
        accounts(of: budget)?.noteAnswer(to: request, at: clock.now, isNewCall: isNewCall)
    }

    private func accounts(of budget: RetryBudget) -> RetryAccounts? {
        switch budget.kind {
        case .process: accounts
        case .accounts(let accounts): accounts
        case .perCall, .unlimited: nil
        }
    }
}
