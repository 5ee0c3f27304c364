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
