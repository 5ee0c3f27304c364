import Foundation
import HTTPTypes

/// The decision of a cache about a response that came from the server (RFC 9111, sections 3, 4.3.3 and 4.3.4).
enum ResponseDecision: Sendable {
    /// Answer with a stored response, which a `304` has confirmed.
    case confirm(Confirmation)
    /// Answer with the whole of a stored start and the rest that has come, and store it.
    case combine(head: HTTPResponse, body: Body)
    /// Send the request of the caller as it is: the answer to the cache's own question is of no use.
    case askPlainly
    /// Answer with the response to a `HEAD`, and update what is stored by it.
    case update
    /// Answer with the response, and store it while its body is read.
    ///
    /// With `isReplacing`, stored responses are outdated even if the store does not take this one.
    case store(isReplacing: Bool)
    /// Answer with the response, which is not stored, and forget what is stored: it is outdated.
    case forget(because: String)
    /// Answer with the response, which is not stored; what is stored stays.
    case pass(because: String)

    /// A stored response that a `304` has confirmed.
    struct Confirmation: Sendable {
        let stored: StoredResponse
        /// The head with updated fields.
        let head: HTTPResponse
        /// Whether the `304` updates the stored response; with a weak tag it confirms without an update.
        let isRefreshed: Bool
        /// Whether the response may stay stored with its updated fields.
        let mayStay: Bool
    }

    /// Decides.
    ///
    /// - Parameters:
    ///   - response: The head of the response.
    ///   - body: The body of the response, of which only the length matters here.
    ///   - forwarded: The request as it was forwarded.
    ///   - policy: The choices that the rules leave.
    /// - Returns: The decision.
    static func decide(
        about response: HTTPResponse, _ body: Body, to forwarded: ForwardedRequest, by policy: CachingPolicy
    ) -> ResponseDecision {
        let request = forwarded.plain.head
        switch forwarded.purpose {
        case .ask(let stored) where response.status == .notModified && !stored.isEmpty:
            if let confirmed = Validation.confirmed(by: response, among: stored, for: request) {
                return .confirm(Confirmation(confirmed, by: response, to: request, policy))
            }
            // It may concern the condition of the caller, which the cache has also sent.
            if !request.isConditional { return .askPlainly }
        case .complete(let stored) where response.status == .partialContent:
            guard let whole = PartialContent.combined(stored, with: response, body) else { return .askPlainly }
            return .combine(head: whole.head, body: whole.body)
        case .complete where response.status == .rangeNotSatisfiable:
            return .askPlainly
        case .ask, .complete:
            break
        }
        let difference = forwarded.sent.difference
        if request.method == .head {
            return difference == nil ? .update : .pass(because: "a response for one caller alone")
        }
        if forwarded.fallback?.replaces(response) == true { return .pass(because: "stale-if-error") }
        let isOutdating = forwarded.isReplacing && StoringRules.replaces(response.status)
        if let difference {
            // A response that is only for one caller says nothing about the responses for others.
            return .pass(because: "not stored without a principal, since \(difference)")
        }
        do {
            try StoringRules.check(response, to: request)
        } catch {
            let reason = "not stored, since \(error.rawValue)"
            return isOutdating ? .forget(because: reason) : .pass(because: reason)
        }
        guard policy.mayStore(request, response) else {
            let reason = "not stored, since the policy forbids it"
            return isOutdating ? .forget(because: reason) : .pass(because: reason)
        }
        return .store(isReplacing: isOutdating)
    }
}

extension ResponseDecision.Confirmation {
    fileprivate init(
        _ stored: StoredResponse, by validation: HTTPResponse, to request: HTTPRequest, _ policy: CachingPolicy
    ) {
        self.stored = stored
        isRefreshed = Validation.mayRefresh(stored.head, by: validation)
        head = Validation.freshened(stored.head, by: validation)
        mayStay = StoringRules.mayStay(head, answering: request, policy)
    }
}

extension StoringRules {
    /// Whether a stored response may stay stored with its updated fields.
    static func mayStay(_ head: HTTPResponse, answering request: HTTPRequest, _ policy: CachingPolicy) -> Bool {
        !CacheControl(head.headerFields).contains("no-store") && !Vary(head.headerFields).isAny
            && policy.mayStore(request, head)
    }
}

extension HTTPRequest {
    fileprivate var isConditional: Bool {
        headerFields.contains(.ifNoneMatch) || headerFields.contains(.ifModifiedSince)
    }
}
