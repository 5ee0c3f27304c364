import Foundation
import HTTPTypes

/// The parts that two errands have to share to get one response: the request of the caller, and the fields that the
/// cache adds.
struct ErrandKey: Sendable, Hashable {
    let plain: FlightKey
    private let added: [String?]
    private let needsValidation: Bool

    var authority: String? { plain.authority }

    /// Creates the key of an errand; nil for an errand without an origin.
    init?(_ errand: CacheErrand, ignoring ignoredFields: FieldNames) {
        guard let plain = FlightKey(errand.plain, ignoring: ignoredFields) else { return nil }
        self.plain = plain
        added = [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range]
            .map { errand.request.head.headerFields.firstValue(of: $0) }
        // A caller who requires an answer from the server does not join an earlier request.
        needsValidation = errand.plain.options.cacheUse == .reload
    }
}

/// A request of a cache to a server, and its purpose.
struct CacheErrand: Sendable {
    enum Purpose: Sendable {
        /// To find out which of these stored responses is current.
        case ask([StoredResponse])
        /// To complete this stored response.
        case complete(StoredResponse)
    }

    /// The request without the fields that the cache adds.
    let plain: Request
    /// The request as it is sent.
    let request: Request
    let key: ResponseKey
    let purpose: Purpose
    let reason: CacheStatus.ForwardReason
    /// The stored response that is used instead of the server's response; the replaced response is not stored.
    let fallback: StaleFallback?
    /// Whether a response that cannot be stored invalidates stored responses.
    let isReplacing: Bool
    /// Collects the requests that are sent for the errand.
    let sent: SentRequests

    init(
        _ plain: Request, key: ResponseKey, asking stored: [StoredResponse], because reason: CacheStatus.ForwardReason,
        fallback: StaleFallback?, replacing: Bool = true
    ) {
        var request = plain
        if !stored.isEmpty { Validation.ask(about: stored, in: &request.head.headerFields) }
        self.init(plain, request, key, .ask(stored), reason, fallback, replacing)
    }

    /// Validates a stale response in the background; the conditions of the caller are left out, since they do not
    /// concern it.
    init(behind plain: Request, key: ResponseKey, asking stale: StaleFallback) {
        var plain = plain
        plain.head.headerFields[.ifNoneMatch] = nil
        plain.head.headerFields[.ifModifiedSince] = nil
        // For a stored part, the rest may not be worth a transfer; for a whole response it is.
        if stale.stored.head.status != .partialContent {
            plain.head.headerFields[.range] = nil
            plain.head.headerFields[.ifRange] = nil
        }
        self.init(plain, key: key, asking: [stale.stored], because: .stale, fallback: stale)
    }

    init(_ plain: Request, key: ResponseKey, completing stored: StoredResponse, with missing: ByteRange) {
        var request = plain
        request.head.headerFields[.range] = missing.value
        if let tag = PartialContent.strongTag(of: stored.head) { request.head.headerFields[.ifRange] = tag }
        self.init(plain, request, key, .complete(stored), .partial, nil, true)
    }

    private init(
        _ plain: Request, _ request: Request, _ key: ResponseKey, _ purpose: Purpose,
        _ reason: CacheStatus.ForwardReason, _ fallback: StaleFallback?, _ isReplacing: Bool
    ) {
        var plain = plain
        var request = request
        sent = plain.collectSent()
        request.options.sentRequests = plain.options.sentRequests
        self.plain = plain
        self.request = request
        self.key = key
        self.purpose = purpose
        self.reason = reason
        self.fallback = fallback
        self.isReplacing = isReplacing
    }

    /// The same errand without the fields that the cache adds.
    var withoutConditions: CacheErrand {
        CacheErrand(plain, key: key, asking: [], because: reason, fallback: fallback)
    }
}

/// The time at which a request was sent, and the permission to store its response.
struct Departure: Sendable {
    let date: Date
    let ticket: StoreTicket
}
