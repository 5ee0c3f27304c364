import Foundation
import HTTPTypes

extension RetryRefusal: CustomStringConvertible {
    var description: String {
        switch self {
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
}

extension RetryAttempt {
    /// The policy that decides about the attempt: that of the request, or else that of the layer.
    func policy(or policy: RetryPolicy) -> RetryPolicy { options.retryPolicy ?? policy }

    /// The outcome in a few words, as in "503 with Retry-After 2".
    var words: String {
        if let response {
            guard let asked = response.headerFields.firstValue(of: .retryAfter) else {
                let limit = RateLimitFields.usedLimit(in: response.headerFields, at: .distantPast)
                return "\(response.status.code)\(limit == nil ? "" : " with a used rate limit")"
            }
            // Any other text than a number may be as long as the server likes.
            let isShort = asked.utf8.count < 10 && asked.utf8.allSatisfy { (0x30...0x39).contains($0) }
            return "\(response.status.code) with Retry-After\(isShort ? " \(asked)" : "")"
        }
        return error.map(Redaction.name(of:)) ?? ""
    }

    /// The decision to send again, for the history of the call.
    func decisionToWait(_ wait: Duration) -> CallDecision {
        let when = wait > .zero ? "in \(wait.shortText)" : "at once"
        return CallDecision(
            .waits, by: "retrying", "retry \(retries + 1) \(when): \(words)", waiting: max(.zero, wait))
    }

    /// The decision to give up, for the history of the call.
    func decisionToGiveUp(_ refusal: RetryRefusal) -> CallDecision {
        CallDecision(.givesUp, by: "retrying", "no retry after \(words): \(refusal)")
    }
}
