import HTTPTypes

/// The cause for which a cache sends a request to the server: a reason of RFC 9211, and more exactly in words.
enum ForwardCause: Sendable, Equatable {
    // Requests that no stored response can answer.
    case requestNoStore
    case method
    case content
    case precondition
    case range
    case noKey
    case noPrincipal
    case anonymous
    // Stored responses that cannot be used.
    case nothingStored
    case vary
    case cookie
    case part
    case request
    case noCache
    case change
    case stale
    case validating

    /// The reason as in `Cache-Status`.
    var reason: CacheStatus.ForwardReason {
        switch self {
        case .method: .method
        case .content, .precondition, .range, .noKey, .noPrincipal, .anonymous: .bypass
        case .nothingStored: .uriMiss
        case .vary, .cookie: .varyMiss
        case .part: .partial
        case .requestNoStore, .request: .request
        case .noCache, .change, .stale, .validating: .stale
        }
    }

    /// The cause in words, with the section of the RFC; nil where nothing is stored that could be used.
    var detail: String? {
        switch self {
        case .requestNoStore: "not from the store: the request has no-store (RFC 9111, 5.2.1.5)"
        case .method: "not from the store: the method is sent to the server (RFC 9111, 4)"
        case .content: "not from the store: the request has content (RFC 9110, 9.3.1)"
        case .precondition: "not from the store: the server has to evaluate the condition (RFC 9110, 13.1)"
        case .range: "not from the store: the range is not one range of bytes of a GET (RFC 9110, 14.2)"
        case .noKey: "not from the store: the request has no origin, or content that is too long (RFC 9111, 2)"
        case .noPrincipal:
            "neither stored nor from the store: a layer adds credentials, and the request names no principal"
        case .anonymous: "not from the store: the request skips authentication, so it is not the principal's"
        case .nothingStored: nil
        case .vary: "not used: the stored response is for other request fields (RFC 9111, 4.1)"
        case .cookie: "not used: the stored response is for another cookie, and is not public (RFC 9111, 4.1)"
        case .part: "not used: only a part is stored (RFC 9111, 3.3)"
        case .request: "not used: the request does not accept the stored response (RFC 9111, 5.2.1)"
        case .noCache: "not used: the stored response has no-cache (RFC 9111, 5.2.2.4)"
        case .change: "not used: resources of the origin may have changed since (RFC 9111, 4.4)"
        case .validating: "not used: the server is asked each time (RFC 9111, 4.3)"
        case .stale: "not used: the stored response is stale (RFC 9111, 4.2)"
        }
    }
}
