import HTTPTypes

/// A request that a cache forwards to the server, and its purpose.
struct ForwardedRequest: Sendable {
    /// The response that the request asks for.
    enum Purpose: Sendable {
        /// A whole response, or the confirmation of one of these stored responses.
        case ask([StoredResponse])
        /// The rest of this stored response.
        case complete(StoredResponse)
    }

    /// The request without the fields that the cache adds.
    private(set) var plain: Request
    /// The request as it is sent.
    private(set) var request: Request
    let key: ResponseKey
    let purpose: Purpose
    let cause: ForwardCause
    /// The stored response that is used instead of the server's response; the replaced response is not stored.
    let fallback: StaleFallback?
    /// Whether a response that cannot be stored invalidates stored responses.
    let isReplacing: Bool
    /// Whether the response may come from a request that another caller has sent.
    private(set) var mayBeShared: Bool
    /// Collects the requests that are sent.
    let sent: SentRequests

    init(
        _ plain: Request, wanting wanted: CacheRequest, key: ResponseKey, asking stored: [StoredResponse],
        because cause: ForwardCause, fallback: StaleFallback?, replacing: Bool = true,
        datedBy clock: any DatedClock
    ) {
        var request = plain
        if !stored.isEmpty { Validation.ask(about: stored, in: &request.head.headerFields) }
        self.init(plain, request, wanted, key, .ask(stored), cause, fallback, replacing, clock)
    }

    /// Validates a stale response in the background; the conditions of the caller are left out, since they do not
    /// concern it.
    init(
        validating plain: Request, wanting wanted: CacheRequest, key: ResponseKey, asking stale: StaleFallback,
        datedBy clock: any DatedClock
    ) {
        var plain = plain
        plain.options = plain.options.travelling(.backgroundRequests)
        plain.head.headerFields[.ifNoneMatch] = nil
        plain.head.headerFields[.ifModifiedSince] = nil
        // For a stored part, the rest may not be worth a transfer; for a whole response it is.
        if stale.stored.head.status != .partialContent {
            plain.head.headerFields[.range] = nil
            plain.head.headerFields[.ifRange] = nil
        }
        self.init(
            plain, wanting: wanted, key: key, asking: [stale.stored], because: .stale, fallback: stale, datedBy: clock)
        // A caller who waits for an answer must not wait for a request that no other caller waits for.
        mayBeShared = false
    }

    init(
        _ plain: Request, wanting wanted: CacheRequest, key: ResponseKey, completing stored: StoredResponse,
        with missing: ByteRange, datedBy clock: any DatedClock
    ) {
        var request = plain
        request.head.headerFields[.range] = missing.value
        if let tag = PartialContent.strongTag(of: stored.head) { request.head.headerFields[.ifRange] = tag }
        self.init(plain, request, wanted, key, .complete(stored), .part, nil, true, clock)
    }

    private init(
        _ plain: Request, _ request: Request, _ wanted: CacheRequest, _ key: ResponseKey, _ purpose: Purpose,
        _ cause: ForwardCause, _ fallback: StaleFallback?, _ isReplacing: Bool, _ clock: any DatedClock
    ) {
        var plain = plain
        var request = request
        sent = plain.collectSent(datedBy: clock)
        request.options.sentRequests = plain.options.sentRequests
        self.plain = plain
        self.request = request
        self.key = key
        self.purpose = purpose
        self.cause = cause
        self.fallback = fallback
        self.isReplacing = isReplacing
        // A caller who wants the server's answer of now, or of a limited age, does not take that to an earlier request.
        mayBeShared = plain.options.allowsCoalescing && !wanted.needsValidation && wanted.maxAge == nil
    }

    /// The same request without the fields that the cache adds.
    var withoutConditions: ForwardedRequest {
        ForwardedRequest(withoutConditions: self)
    }

    /// The request as it is sent for all callers that wait for its response.
    func forAllCallers() -> ForwardedRequest {
        var forwarded = self
        forwarded.plain = plain.forAllCallers()
        forwarded.request = request.forAllCallers()
        return forwarded
    }

    /// The request as it may go on after its caller was answered.
    func withoutDeadline() -> ForwardedRequest {
        var forwarded = self
        (forwarded.plain.options.deadline, forwarded.plain.options.bodyDeadline) = (nil, nil)
        (forwarded.request.options.deadline, forwarded.request.options.bodyDeadline) = (nil, nil)
        return forwarded
    }

    private init(withoutConditions other: ForwardedRequest) {
        plain = other.plain
        plain.options = plain.options.travelling(.attempts)
        request = plain
        key = other.key
        purpose = .ask([])
        cause = other.cause
        fallback = other.fallback
        isReplacing = true
        mayBeShared = other.mayBeShared
        sent = other.sent
    }
}
