import Foundation
import HTTPTypes

/// The decision about a response or an error.
enum RetryDecision: Equatable, Sendable {
    /// The request is sent again after a random wait within a range.
    ///
    /// Without the budget, it is sent again at once, since it is the connection that has failed, and not the server.
    case send(after: ClosedRange<Duration>, fromBudget: Bool = true)
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
        case .noRecentAnswer: "the origin has not answered lately, and may still work on the request"
        case .callBudgetUsed(let retries): "the budget of the call is \(retries) retries"
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
    /// Decides about the outcome of an attempt.
    ///
    /// - Parameters:
    ///   - attempt: The request with its response or error.
    ///   - history: The attempts before it.
    ///   - date: The date on which the outcome was received.
    ///   - now: The current instant, with which the instant of an error is compared.
    /// - Returns: The decision, before the deadline and the budget are asked.
    func decision(
        about attempt: RetryAttempt, after history: RetryHistory, at date: @autoclosure () -> Date,
        now: ContinuousClock.Instant
    ) -> RetryDecision {
        guard !(attempt.error is CancellationError), when.isMet(by: attempt) else { return .giveUp(.notTemporary) }
        let error = attempt.error as? any TemporaryError
        if retries > 0, !history.hasSentAtOnce, let error = error as? TransportError,
            error.isUnprocessed || error.hasLostReusedConnection && maySendTwice(attempt.request)
        {
            return .send(after: .zero ... .zero, fromBudget: false)
        }
        guard history.retries < retries else { return .giveUp(.retriesUsed(max(0, retries))) }
        guard error?.meansNotProcessed == true || maySendTwice(attempt.request) else {
            return .giveUp(.method(attempt.request.method))
        }
        let asked =
            error?.earliestRetry.map { max(.zero, $0 - now) }
            ?? attempt.response.flatMap { AskedWait.duration(in: $0.headerFields, at: date()) }
        guard let asked else { return .send(after: backoff(afterRetries: history.retries)) }
        return asked <= maximumRetryAfter
            ? .send(after: AskedWait.spread(asked)) : .giveUp(.longWait(asked, limit: maximumRetryAfter))
    }

    private func maySendTwice(_ request: HTTPRequest) -> Bool {
        if methods.contains(request.method) { return true }
        let key = request.headerFields.first { $0.name.canonicalName == "idempotency-key" }
        return key?.value.isEmpty == false
    }

    func backoff(afterRetries retries: Int) -> ClosedRange<Duration> {
        // In floating point, a large number of retries gives infinity instead of an overflow.
        let growth = factor > 1 ? pow(factor, Double(retries)) : 1
        let base = max(baseDelay, .zero) / .seconds(1)
        let limit = max(maximumDelay, .zero) / .seconds(1)
        let longest: Duration = base == 0 ? .zero : .seconds(min(base * growth, limit, 0x1p31))
        return longest * (certainPart > 0 ? min(certainPart, 1) : 0)...longest
    }
}

/// The attempts of a request so far.
struct RetryHistory: Sendable {
    /// The number of retries.
    var retries = 0
    /// Whether the request has been sent again at once, without the budget.
    var hasSentAtOnce = false
    /// The attempts that have ended; layers further in may make several for one attempt of the layer.
    private(set) var attempts = 0
    /// The outcomes in a few words each, as in "503"; at most ten.
    private(set) var outcomes: [String] = []
    /// The time that was waited between the attempts.
    private(set) var waited = Duration.zero
    /// The time from the start of the first attempt to the last outcome; nil on a clock that skips sleeps.
    private(set) var elapsed: Duration?
    /// The attempt that is about to be sent, for the log of attempts.
    private(set) var next = ""
    /// The instant of that attempt; nil for at once.
    private(set) var nextStart: ContinuousClock.Instant?
    private var start: ContinuousClock.Instant?

    private static let outcomeLimit = 10

    /// Notes the end of an attempt; the first one determines when the call began, by the time that it took.
    mutating func noteEnd(at now: ContinuousClock.Instant, after elapsed: Duration?) {
        let start = start ?? now - (elapsed ?? .zero).bounded
        self.start = start
        self.elapsed = start.duration(to: now)
    }

    /// Adds an attempt after which the request is sent again.
    ///
    /// - Parameters:
    ///   - attempts: The attempts that layers further in have made of it.
    ///   - outcome: Its outcome in a few words.
    ///   - wait: The wait after it.
    ///   - instant: The end of the wait; nil for an attempt at once, which counts as no retry.
    ///   - limit: The largest number of retries.
    mutating func add(
        _ attempts: Int, _ outcome: String, thenWaiting wait: Duration, until instant: ContinuousClock.Instant?,
        upTo limit: Int
    ) {
        self.attempts += attempts
        waited += wait
        if outcomes.count < Self.outcomeLimit { outcomes.append(outcome) }
        if instant == nil { hasSentAtOnce = true } else { retries += 1 }
        nextStart = instant
        let number = retries + (hasSentAtOnce ? 2 : 1)
        let most = limit.addingReportingOverflow(hasSentAtOnce ? 2 : 1).partialValue
        let pause = wait > .zero ? ", waited \(wait.shortText)" : ""
        next = "attempt \(number) of \(max(most, number)), after \(outcome)\(pause)"
    }

    /// The outcome that the caller gets, with the attempts before it and the reason why there is no further one.
    func end(
        with outcome: consuming Result<Response, any Error>, because refusal: RetryRefusal
    ) throws -> Response {
        switch consume outcome {
        case .success(var response):
            if attempts > 0 {
                response.metadata.attempts += attempts
                response.metadata.retryHistory = self
            }
            if let reason = refusal.shown { response.metadata.retryRefusal = reason }
            return response
        case .failure(let error):
            throw end(with: error, because: refusal)
        }
    }

    private func end(with error: any Error, because refusal: RetryRefusal) -> any Error {
        guard var error = error as? TransportError else { return error }
        if attempts > 0 {
            error.attempts += attempts
            error.totalElapsed = elapsed
        }
        if let reason = refusal.shown { error.retryRefusal = reason }
        return error
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
    /// The reason why `retrying` returned a response after which it would otherwise send the request again; nil if there is
    /// no such reason.
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
