import Foundation
import HTTPTypes

/// The decision about a response or an error.
enum RetryDecision: Equatable, Sendable {
    /// The caller gets it, since the rule does not call it temporary.
    case finish
    /// The caller gets it, although it is temporary.
    case giveUp(RetryRefusal)
    /// The request is sent again at once, without the budget, since it is the connection that has failed, and not the
    /// server.
    case sendAgain
    /// The request is sent again after a random wait within a range, if the budget and the deadline allow it.
    case wait(ClosedRange<Duration>)
}

/// The reason why a request is not sent again after a temporary failure.
enum RetryRefusal: Equatable, Sendable {
    case retriesUsed(Int)
    case method(HTTPRequest.Method)
    case bodyReadOnce
    case longWait(Duration, limit: Duration)
    case deadline
    case emptyBudget
    case noRecentAnswer
    case callBudgetUsed(Int)
}

/// The facts of a call that decide about its retries.
struct RetryState: Sendable {
    /// The number of retries so far.
    var retries = 0
    /// Whether the request has been sent again at once already, without the budget.
    var hasSentUnprocessed = false
}

extension RetryPolicy {
    /// Decides about the outcome of an attempt.
    ///
    /// - Parameters:
    ///   - attempt: The request with its response or error.
    ///   - state: The retries so far.
    ///   - date: The date on which the outcome was received.
    ///   - now: The current instant, with which the instant of an error is compared.
    /// - Returns: The decision, before the deadline and the budget are asked.
    func decision(
        about attempt: RetryAttempt, after state: RetryState, at date: @autoclosure () -> Date,
        now: ContinuousClock.Instant
    ) -> RetryDecision {
        guard !(attempt.error is CancellationError), when.isMet(by: attempt) else { return .finish }
        let error = attempt.error as? any TemporaryError
        if retries > 0, !state.hasSentUnprocessed, let error = error as? TransportError,
            error.isUnprocessed || error.hasLostReusedConnection && maySendTwice(attempt.request)
        {
            return .sendAgain
        }
        guard state.retries < retries else { return .giveUp(.retriesUsed(max(0, retries))) }
        guard error?.meansNotProcessed == true || maySendTwice(attempt.request) else {
            return .giveUp(.method(attempt.request.method))
        }
        if let instant = error?.earliestRetry { return decision(asked: max(.zero, instant - now)) }
        if let asked = attempt.response.flatMap({ AskedWait.duration(in: $0.headerFields, at: date()) }) {
            return decision(asked: asked)
        }
        return .wait(backoff(afterRetries: state.retries))
    }

    private func decision(asked: Duration) -> RetryDecision {
        asked <= maximumRetryAfter
            ? .wait(AskedWait.spread(asked)) : .giveUp(.longWait(asked, limit: maximumRetryAfter))
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
