import HTTPTypes

/// What two errands have in common that may share a response: what the callers ask, and what the cache adds to it.
struct ErrandKey: Sendable, Hashable {
    let plain: FlightKey
    private let added: [String?]
    private let needsValidation: Bool

    var authority: String? { plain.authority }

    /// Creates the key of an errand; nil is returned for one without an origin.
    init?(_ errand: CacheErrand, ignoring ignoredFields: FieldNames) {
        guard let plain = FlightKey(errand.plain, ignoring: ignoredFields) else { return nil }
        self.plain = plain
        added = [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range]
            .map { errand.request.head.headerFields.firstValue(of: $0) }
        // Who wants to hear from the server does not join somebody who asked before.
        needsValidation = errand.plain.options.cacheUse == .reload
    }
}

/// What a cache asks a server, and what for.
struct CacheErrand: Sendable {
    enum Purpose: Sendable {
        /// To learn which of these stored responses is current, if any.
        case ask([StoredResponse])
        /// To complete this one.
        case complete(StoredResponse)
    }

    /// The request without what the cache adds to it.
    let plain: Request
    /// The request as it is sent.
    let request: Request
    let key: ResponseKey
    let purpose: Purpose
    let reason: CacheStatus.ForwardReason
    /// What stands in for the server's response; the response that it replaces is not stored.
    let fallback: StaleFallback?
    /// Whether a response that cannot be stored makes stored ones worthless.
    let isReplacing: Bool
    /// Collects what is sent for the errand.
    let sent: SentRequests

    init(
        _ plain: Request, key: ResponseKey, asking stored: [StoredResponse], because reason: CacheStatus.ForwardReason,
        fallback: StaleFallback?, replacing: Bool = true
    ) {
        var request = plain
        if !stored.isEmpty { Validation.ask(about: stored, in: &request.head.headerFields) }
        self.init(plain, request, key, .ask(stored), reason, fallback, replacing)
    }

    /// Asks about a stale response behind the back of a caller, whose own conditions do not ask about it.
    init(behind plain: Request, key: ResponseKey, asking stale: StaleFallback) {
        var plain = plain
        plain.head.headerFields[.ifNoneMatch] = nil
        plain.head.headerFields[.ifModifiedSince] = nil
        // Of a part that is stored not all may be worth to be transferred, of a whole it is.
        if stale.stored.head.status != .partialContent { plain.head.headerFields[.range] = nil }
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

    /// The same without anything that the cache adds.
    var withoutConditions: CacheErrand {
        CacheErrand(plain, key: key, asking: [], because: reason, fallback: fallback)
    }
}
