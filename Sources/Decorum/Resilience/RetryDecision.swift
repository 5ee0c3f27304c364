import Foundation
import HTTPTypes

/// The decision about a response or a failure.
enum RetryDecision: Equatable, Sendable {
    /// The caller gets it.
    case giveUp
    /// The request is sent again after exactly this time, since the server asks for it.
    case wait(Duration)
    /// The request is sent again after a random part of this time.
    case waitWithin(Duration)

    /// Decides about a response that was received at `date`, after a number of retries.
    static func after(
        _ response: HTTPResponse, to request: HTTPRequest, at date: @autoclosure () -> Date, retries: Int,
        policy: RetryPolicy
    ) -> RetryDecision {
        guard retries < policy.retries, policy.statuses.contains(response.status), policy.maySendTwice(request) else {
            return .giveUp
        }
        let date = date()
        let values = response.headerFields[values: .retryAfter]
        guard let delay = values.compactMap({ RetryAfter($0, at: date)?.delay(from: date) }).max() else {
            return .waitWithin(policy.longestDelay(afterRetries: retries))
        }
        return delay <= policy.maximumRetryAfter ? .wait(delay) : .giveUp
    }

    /// Decides about a failure, after a number of retries.
    static func after(
        _ error: any Error, to request: HTTPRequest, retries: Int, policy: RetryPolicy
    ) -> RetryDecision {
        guard retries < policy.retries, let error = error as? TransportError, policy.failures.contains(error.code),
            error.stage == .connecting || policy.maySendTwice(request)
        else { return .giveUp }
        return .waitWithin(policy.longestDelay(afterRetries: retries))
    }
}

extension RetryPolicy {
    fileprivate func maySendTwice(_ request: HTTPRequest) -> Bool {
        if methods.contains(request.method) { return true }
        let key = request.headerFields.first { $0.name.canonicalName == "idempotency-key" }
        return key?.value.isEmpty == false
    }

    fileprivate func longestDelay(afterRetries retries: Int) -> Duration {
        // In floating point, a large number of retries gives infinity instead of an overflow.
        let growth = factor > 1 ? pow(factor, Double(retries)) : 1
        let base = max(baseDelay, .zero) / .seconds(1)
        let limit = max(maximumDelay, .zero) / .seconds(1)
        return base == 0 ? .zero : .seconds(min(base * growth, limit, 0x1p31))
    }
}
