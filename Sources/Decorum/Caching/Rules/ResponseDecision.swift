import Foundation
import HTTPTypes

/// The decision of a cache about a response that came from the server (RFC 9111, sections 3, 4.3.3 and 4.3.4).
enum ResponseDecision: Sendable {
    /// Answer with a stored response, which a `304` has confirmed.
    case confirm(Confirmation)
    /// Answer with the whole of a stored start and the rest that has come, and store it unless there is a reason not
    /// to.
    case combine(head: HTTPResponse, body: Body, NotStored?)
    /// Send the request of the caller as it is: the answer to the cache's own question is of no use.
    case askPlainly
    /// Answer with the response to a `HEAD`, and update what is stored by it.
    case update
    /// Answer with the response, and store it while its body is read.
    ///
    /// With `isReplacing`, stored responses are outdated even if the store does not take this one.
    case store(isReplacing: Bool)
    /// Answer with the response, which is not stored, and remove what is stored: it is outdated.
    case forget(because: NotStored)
    /// Answer with the response, which is not stored; what is stored stays.
    case pass(because: NotStored)

    /// A stored response that a `304` has confirmed.
    struct Confirmation: Sendable {
        let stored: StoredResponse
        /// The head with updated fields.
        let head: HTTPResponse
        /// Whether the `304` updates the stored response; with a weak tag it confirms without an update.
        let isRefreshed: Bool
        /// The reason why the response must not stay stored with its updated fields; nil when it may stay.
        let obstacle: NotStored?
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
        case .ask(let stored) where !stored.isEmpty && response.code == 304:
            if let confirmed = Validation.confirmed(by: response, among: stored, for: request) {
                return .confirm(Confirmation(confirmed, by: response, to: request, policy))
            }
            // It may concern the condition of the caller, which the cache has also sent.
            if !request.isConditional { return .askPlainly }
        case .complete(let stored) where response.code == 206:
            guard let whole = PartialContent.combined(stored, with: response, body) else { return .askPlainly }
            return .combine(
                head: whole.head, body: whole.body,
                forwarded.sent.difference.map { .noPrincipal($0) } ?? obstacle(to: whole.head, request, policy))
        case .complete where response.code == 416:
            return .askPlainly
        case .ask, .complete:
            break
        }
        // A response that is only for one caller says nothing about the responses for others.
        if let difference = forwarded.sent.difference { return .pass(because: .noPrincipal(difference)) }
        if request.method == .head, policy.mode == .answering { return .update }
        if forwarded.fallback?.replaces(response) == true { return .pass(because: .replacedByStale) }
        let isOutdating = forwarded.isReplacing && policy.mode.outdates(response.status)
        guard let obstacle = obstacle(to: response, request, policy) else { return .store(isReplacing: isOutdating) }
        return isOutdating ? .forget(because: obstacle) : .pass(because: obstacle)
    }

    /// The reason why the response to a `POST` is not stored; nil when it may answer a `GET` (RFC 9110, section 9.3.3).
    static func obstacle(
        toPOST response: HTTPResponse, _ request: HTTPRequest, isWanted: Bool, _ difference: SentRequests.Difference?,
        _ policy: CachingPolicy
    ) -> NotStored? {
        do {
            try StoringRules.check(response, toPost: request)
        } catch {
            return .refused(error)
        }
        if let difference { return .noPrincipal(difference) }
        guard isWanted else { return .removedSince }
        return policy.mayStore(request, response) ? nil : .policy
    }

    /// The reason why the rules or the policy do not allow a response to be stored.
    private static func obstacle(
        to response: HTTPResponse, _ request: HTTPRequest, _ policy: CachingPolicy
    ) -> NotStored? {
        do {
            try StoringRules.check(response, to: request, in: policy.mode)
        } catch {
            return .refused(error)
        }
        return policy.mayStore(request, response) ? nil : .policy
    }
}

extension ResponseDecision.Confirmation {
    fileprivate init(
        _ stored: StoredResponse, by validation: HTTPResponse, to request: HTTPRequest, _ policy: CachingPolicy
    ) {
        self.stored = stored
        isRefreshed = Validation.mayRefresh(stored.head, by: validation)
        head = Validation.freshened(stored.head, by: validation)
        obstacle = StoringRules.obstacle(toUpdating: head, request, policy)
    }
}

extension StoringRules {
    /// The reason why a stored response must not stay stored with its updated fields; nil when it may stay.
    static func obstacle(
        toUpdating head: HTTPResponse, _ request: HTTPRequest, _ policy: CachingPolicy
    ) -> NotStored? {
        if let refusal = refusal(of: head, CacheControl(head.headerFields), in: policy.mode) {
            return .refused(refusal)
        }
        return policy.mayStore(request, head) ? nil : .policy
    }
}

extension HTTPRequest {
    fileprivate var isConditional: Bool {
        headerFields.contains(.ifNoneMatch) || headerFields.contains(.ifModifiedSince)
    }
}

/// The reason why a response is not stored, or why a stored one does not stay.
enum NotStored: Sendable, Equatable {
    /// The rules forbid it.
    case refused(StoringRules.Refusal)
    /// ``CachingPolicy/mayStore`` forbids it.
    case policy
    /// Another request was sent than the one that was asked for, and no principal separates the users.
    case noPrincipal(SentRequests.Difference)
    /// It is a response to `HEAD`.
    case head
    /// A stale response is used in its place.
    case replacedByStale
    /// A `304` has confirmed the stored response, but does not show that it may be changed.
    case weaklyConfirmed
    /// The store does not take bodies of this length, or does not take the response.
    case store
    /// The stored responses of the URI or of the principal were removed since the request was sent.
    case removedSince

    /// Whether the detail is the same for all requests.
    var isFixed: Bool {
        if case .noPrincipal = self { false } else { true }
    }

    /// The reason in words, with the section of the RFC.
    var detail: String {
        switch self {
        case .refused(let refusal): refusal.detail
        case .policy: "not stored: the policy of the cache forbids it"
        case .noPrincipal(let difference): "not stored: the request names no principal, and \(difference)"
        case .head: "not stored: a response to HEAD has no content (RFC 9111, 4.3.5)"
        case .replacedByStale: "not stored: a stale response is used in its place (RFC 5861, 4)"
        case .weaklyConfirmed: "not updated: only a weak entity tag is equal (RFC 9111, 4.3.4)"
        case .store: "not stored: the store does not take it"
        case .removedSince: "not stored: it was removed while it was requested (RFC 9111, 4.4)"
        }
    }
}
