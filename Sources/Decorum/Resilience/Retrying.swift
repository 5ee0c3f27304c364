import Foundation
import HTTPTypes

extension Connection {
    /// Sends a request again after a temporary failure.
    ///
    /// By default, a request is sent again up to three times, so at most four times in all, as ``Connection/bounds`` counts:
    /// after a status of 429, 500, 502, 503 or 504, and after a failure that may pass, such as a lost connection. Its method
    /// must be idempotent, or it must have an `Idempotency-Key`; and its body must be readable again. If no server has
    /// carried it out, as with a refused connection, any method is sent again. ``RetryPolicy/when`` takes other rules:
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .retrying(RetryPolicy(retries: 2, when: .standard || .status(403)))
    /// ```
    ///
    /// The wait is the time in `Retry-After`, in seconds or as a date, which counts from the `Date` of the response, or the
    /// time until a used rate limit is renewed (`RateLimit`, `X-RateLimit-Reset`). A random part of up to half of it is added,
    /// at least 1 second and at most 20, so that clients which were given one date do not all come back in one second.
    /// Without such a field, the wait is a random part of a time that doubles with each retry ("full jitter"). If the next
    /// attempt would start after ``RequestOptions/deadline``, the outcome of the last attempt is returned at once. Where a
    /// layer further out sends the request for several callers, the latest of their deadlines counts.
    ///
    /// The body of a response that is not returned is read before the wait, so that its connection can be used again; a
    /// body of more than 16 KiB is dropped. Cancelling the task ends the wait.
    ///
    /// Each retry comes from a ``RetryBudget``, which the stacks of a process share, so that retries do not keep a server in
    /// trouble down. Use ``RetryPolicy/tool`` for a command.
    ///
    /// The caller gets the response or the error of the last attempt, which counts the attempts in
    /// ``TransportError/attempts``. A response whose body fails later is not retried, because it has been returned by then.
    /// ``RequestOptions/retryPolicy`` replaces the policy for one request. The ``CallContext/history`` of a call says why each
    /// retry was made, or was not; the description of a ``StatusError`` and ``TransportError/retryRefusal`` say why there was no
    /// further one.
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
        (self.base, self.policy, self.clock, self.generator) = (base, policy, clock, generator)
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
        request.options.beginCall(ifNeeded: baseMayChangeUser)
        let outcome: Result<Response, any Error>
        do {
            let response = try await base.send(copy request)
            if isLast(response, to: request) { return response }
            outcome = .success(consume response)
        } catch {
            outcome = .failure(error)
        }
        return try await sendAgain(request, after: consume outcome)
    }

    /// Whether the status alone shows that a first response needs no retry; if so, it is noted as an answer.
    private func isLast(_ response: borrowing Response, to request: borrowing Request) -> Bool {
        // A policy is large, so the policy of the layer is not copied.
        if !request.options.values.isEmpty, let own = request.options.retryPolicy {
            guard own.when.isUnmet(byCode: response.code) else { return false }
            noteAnswer(to: request.head, in: own.budget, isNewCall: true)
        } else {
            guard policy.when.isUnmet(byCode: response.code) else { return false }
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
            history.nextChange?.apply(&request.options)
            request.options.retryHistory = history
            request.options.callContext?.addRetry()
            do {
                outcome = .success(try await base.send(copy request))
            } catch {
                outcome = .failure(error)
            }
        }
    }

    /// Decides about an outcome, and carries out the decision, except for the wait; nil if the request is to be sent again.
    ///
    /// A response that is not returned is consumed here: its transfer must end before the wait.
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
        let isRepeatable = request.body.replay > .once || request.body.isEmpty
        switch decision(about: attempt, isRepeatable: isRepeatable, by: policy, history, at: now) {
        case .giveUp(let refusal):
            if refusal != .notTemporary {
                attempt.options.callContext?.note(
                    CallDecision(.givesUp, by: "retrying", "no retry after \(attempt.words): \(refusal)"))
            } else if attempt.response != nil {
                noteAnswer(to: request.head, in: policy.budget, isNewCall: history.attempts == 0)
            }
            return try history.end(with: outcome, because: refusal)
        case .send(let wait, let fromBudget, let change):
            let wait = wait.lowerBound
            let moment = wait > .zero ? "in \(wait.shortText)" : "at once"
            let retry = CallDecision(
                .waits, by: "retrying", "retry \(attempt.retries + 1) \(moment): \(attempt.words)",
                waiting: max(.zero, wait), after: attempt.words)
            attempt.options.callContext?.note(retry)
            // A sender that was cancelled has a successor, whose waiting callers learn nothing from this attempt.
            try Task.checkCancellation()
            history.add(attempts, retry, until: fromBudget ? now + wait : nil, of: policy.sends.upperBound)
            history.nextChange = change
            request.options.waitingCallers?.note(attempts: history.attempts)
            if case .success(let response) = consume outcome {
                try await response.body.discard(until: request.options.lastDeadline, on: clock)
            }
            return nil
        }
    }

    /// Decides about an attempt, draws the wait, and asks the deadline and the budget.
    private func decision(
        about attempt: RetryAttempt, isRepeatable: Bool, by policy: RetryPolicy, _ history: RetryHistory,
        at now: ContinuousClock.Instant
    ) -> RetryDecision {
        let decision = policy.decision(about: attempt, after: history, at: clock.date, now: now)
        guard case .send(let range, let fromBudget, let change) = decision else { return decision }
        guard isRepeatable else { return .giveUp(.bodyReadOnce) }
        let wait = fromBudget ? range.random(using: generator) : .zero
        if let last = attempt.options.lastDeadline, now + wait >= last { return .giveUp(.deadline) }
        if fromBudget {
            if case .perCall(let retries) = policy.budget.kind, history.paidRetries >= retries {
                return .giveUp(.callBudgetUsed(max(0, retries)))
            }
            let refusal = accounts(of: policy.budget)?.take(
                for: attempt.request, at: now, isNewCall: history.attempts == 0, mayBeWorking: attempt.mayBeWorking)
            if let refusal { return .giveUp(refusal) }
        }
        return .send(after: wait...wait, fromBudget: fromBudget, changing: change)
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

/// The decision about a response or an error.
enum RetryDecision: Equatable, Sendable {
    /// The request is sent again after a random wait within a range.
    ///
    /// Without the budget, it is sent again at once, since it is the connection that has failed, and not the server.
    case send(after: ClosedRange<Duration>, fromBudget: Bool = true, changing: OptionsChange? = nil)
    /// The caller gets the outcome.
    case giveUp(RetryRefusal)
}

/// The reason why a request is not sent again.
enum RetryRefusal: Equatable, Sendable, CustomStringConvertible {
    /// The rule does not call the outcome temporary.
    case notTemporary
    case retriesUsed(Int)
    case method(HTTPRequest.Method)
    case bodyReadOnce
    case longWait(Duration, limit: Duration)
    case deadline
    case emptyBudget
    case noRecentAnswer
    case callBudgetUsed(Int)

    var description: String {
        switch self {
        case .notTemporary: "the failure does not pass"
        case .retriesUsed(let retries): "the policy allows \(retries) retries"
        case .method(let method): "a \(method) without Idempotency-Key may not be sent twice"
        case .bodyReadOnce: "its body can be read only once"
        case .longWait(let asked, let limit):
            "a wait of \(asked.shortText) is longer than `maximumRetryAfter` of the policy, \(limit.shortText)"
        case .deadline: "the wait would end after the deadline"
        case .emptyBudget:
            "the retry budget of the origin is empty, which successful calls fill (see `budget` of the retries)"
        case .callBudgetUsed(let retries): "the budget of the call is \(retries) retries"
        case .noRecentAnswer: "the origin has not answered lately, and may still work on the request"
        }
    }

    /// The reason for the description of an error; nil if the number of attempts shows it.
    fileprivate var shown: String? {
        switch self {
        case .notTemporary, .retriesUsed: nil
        default: description
        }
    }
}

extension RetryPolicy {
    /// Decides about the outcome of an attempt, before the deadline and the budget are asked.
    func decision(
        about attempt: RetryAttempt, after history: RetryHistory, at date: @autoclosure () -> Date,
        now: ContinuousClock.Instant
    ) -> RetryDecision {
        guard !(attempt.error is CancellationError) else { return .giveUp(.notTemporary) }
        let verdict = when.verdict(on: attempt)
        guard verdict.kind == .retry else { return .giveUp(.notTemporary) }
        guard history.retries < retries else { return .giveUp(.retriesUsed(max(0, retries))) }
        let error = attempt.error as? any TemporaryError
        if verdict.wait == nil, !history.hasSentAtOnce, let error = error as? TransportError,
            error.isUnprocessed || error.hasLostReusedConnection && maySendTwice(attempt.request)
        {
            return .send(after: .zero ... .zero, fromBudget: false, changing: verdict.change)
        }
        guard error?.meansNotProcessed == true || maySendTwice(attempt.request) else {
            return .giveUp(.method(attempt.request.method))
        }
        let asked =
            error?.askedWait(at: now)
            ?? attempt.response.flatMap { AskedWait.duration(in: $0.headerFields, at: date()) }
        if let least = [asked, verdict.wait].compactMap(\.self).max(), least > maximumRetryAfter {
            return .giveUp(.longWait(least, limit: maximumRetryAfter))
        }
        let own = verdict.wait.map { max(.zero, $0.bounded) }
        let wait =
            if let own, own >= asked ?? .zero {
                own...own
            } else {
                asked.map(AskedWait.spread) ?? backoff(afterRetries: history.paidRetries)
            }
        return .send(after: wait, changing: verdict.change)
    }

    private func maySendTwice(_ request: HTTPRequest) -> Bool {
        if methods.contains(request.method) { return true }
        let key = request.headerFields.first { $0.name.canonicalName == "idempotency-key" }
        return key?.value.isEmpty == false
    }

    package func backoff(afterRetries retries: Int) -> ClosedRange<Duration> {
        // In floating point, a large number of retries gives infinity instead of an overflow.
        let growth = factor > 1 ? pow(factor, Double(retries)) : 1
        let base = max(baseDelay, .zero) / .seconds(1)
        let limit = max(maximumDelay, .zero) / .seconds(1)
        let longest: Duration = base == 0 ? .zero : .seconds(min(base * growth, limit, 0x1p31))
        return longest * (certainPart > 0 ? min(certainPart, 1) : 0)...longest
    }
}

extension RetryHistory {
    /// The outcome that the caller gets, with the attempts before it and the reason why there is no further one.
    func end(
        with outcome: consuming Result<Response, any Error>, because refusal: RetryRefusal
    ) throws -> Response {
        do {
            var response = try outcome.get()
            if attempts > 0 {
                response.metadata.attempts += attempts
                response.metadata.retryHistory = self
            }
            if let reason = refusal.shown { response.metadata.retryRefusal = reason }
            return response
        } catch var error as TransportError {
            if attempts > 0 {
                error.attempts += attempts
                error.retryHistory = self
            }
            if let reason = refusal.shown { error.retryRefusal = reason }
            throw error
        }
    }
}

extension RequestOptions {
    /// The attempts before this one; nil for a first attempt.
    var retryHistory: RetryHistory? {
        get { values.isEmpty ? nil : self[RetryHistoryKey.self] }
        set { self[RetryHistoryKey.self] = newValue }
    }
}

extension ResponseMetadata {
    /// The reason why `retrying` sent no further request, unless all retries were used.
    var retryRefusal: String? {
        get { self[RetryRefusalKey.self] }
        set { self[RetryRefusalKey.self] = newValue }
    }

    /// The attempts before the one with this response; nil for a first attempt.
    var retryHistory: RetryHistory? {
        get { self[RetryHistoryKey.self] }
        set { self[RetryHistoryKey.self] = newValue }
    }

    /// How often a request of the chain was sent, without the hops of redirections.
    var tries: Int { attempts - (redirects.count - recalledRedirects) }
}

private enum RetryRefusalKey: ResponseMetadataKey {
    static let defaultValue: String? = nil
}

// It describes one attempt, so the layer that sends the next one replaces it.
private enum RetryHistoryKey: RequestOptionKey, ResponseMetadataKey {
    static let defaultValue: RetryHistory? = nil
    static let travels: OptionTravel = []
}
