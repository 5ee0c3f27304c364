import HTTPTypes

/// A request that a cache forwards to the server, and its purpose.
///
/// It is a class, since copies of two requests would cost more than all decisions about them.
final class ForwardedRequest: Sendable {
    /// The response that the request asks for.
    enum Purpose: Sendable {
        /// A whole response, or the confirmation of one of these stored responses.
        case ask([StoredResponse])
        /// The rest of this stored response.
        case complete(StoredResponse)
    }

    /// The request without the fields that the cache adds.
    let plain: Request
    /// The request with the fields that the cache adds; nil if it adds no field.
    private let changed: Request?
    let key: ResponseKey
    let purpose: Purpose
    let cause: ForwardCause
    /// The stored response that is used instead of the server's response; the replaced response is not stored.
    let fallback: StaleFallback?
    /// Whether a response that cannot be stored invalidates stored responses.
    let isReplacing: Bool
    /// Whether the response may come from a request that another caller has sent.
    let mayBeShared: Bool
    /// Collects the requests that are sent.
    let sent: SentRequests

    convenience init(
        _ plain: consuming Request, wanting wanted: CacheRequest, key: ResponseKey, asking stored: [StoredResponse],
        because cause: ForwardCause, fallback: StaleFallback?, replacing: Bool = true,
        datedBy clock: any DatedClock
    ) {
        let sent = plain.collectSent(datedBy: clock)
        var changed: Request?
        if !stored.isEmpty {
            var request = copy plain
            Validation.ask(about: stored, in: &request.head.headerFields, byDate: cause == .validating)
            changed = request
        }
        self.init(
            plain, changed, key, .ask(stored), cause, fallback, replacing, sent, mayBeShared: plain.mayShare(wanted))
    }

    /// Validates a stale response in the background; the conditions of the caller are left out, since they do not
    /// concern it.
    convenience init(
        validating plain: consuming Request, key: ResponseKey, asking stale: StaleFallback,
        datedBy clock: any DatedClock
    ) {
        plain.options = plain.options.travelling(.backgroundRequests)
        plain.head.headerFields[.ifNoneMatch] = nil
        plain.head.headerFields[.ifModifiedSince] = nil
        // For a stored part, the rest may not be worth a transfer; for a whole response it is.
        if stale.stored.head.status != .partialContent {
            plain.head.headerFields[.range] = nil
            plain.head.headerFields[.ifRange] = nil
        }
        let sent = plain.collectSent(datedBy: clock)
        var request = copy plain
        Validation.ask(about: [stale.stored], in: &request.head.headerFields)
        // A caller who waits for an answer must not wait for a request that no other caller waits for.
        self.init(plain, request, key, .ask([stale.stored]), .stale, stale, true, sent, mayBeShared: false)
    }

    convenience init(
        _ plain: consuming Request, wanting wanted: CacheRequest, key: ResponseKey, completing stored: StoredResponse,
        with missing: ByteRange, datedBy clock: any DatedClock
    ) {
        let sent = plain.collectSent(datedBy: clock)
        var request = copy plain
        request.head.headerFields[.range] = missing.value
        if let tag = PartialContent.strongTag(of: stored.head) { request.head.headerFields[.ifRange] = tag }
        self.init(
            plain, request, key, .complete(stored), .part, nil, true, sent, mayBeShared: plain.mayShare(wanted))
    }

    private init(
        _ plain: consuming Request, _ changed: consuming Request?, _ key: ResponseKey, _ purpose: Purpose,
        _ cause: ForwardCause, _ fallback: StaleFallback?, _ isReplacing: Bool, _ sent: SentRequests, mayBeShared: Bool
    ) {
        (self.plain, self.changed, self.key, self.purpose) = (plain, changed, key, purpose)
        (self.cause, self.fallback, self.isReplacing) = (cause, fallback, isReplacing)
        (self.sent, self.mayBeShared) = (sent, mayBeShared)
    }

    /// The request as it is sent for several callers, or with nil for one alone.
    func request(for callers: (any WaitingCallers)?) -> Request {
        if let changed { return changed.sent(for: callers) }
        return plain.sent(for: callers)
    }

    /// The same request without the fields that the cache adds.
    var withoutConditions: ForwardedRequest {
        var plain = plain
        plain.options = plain.options.travelling(.attempts)
        return ForwardedRequest(plain, nil, key, .ask([]), cause, fallback, true, sent, mayBeShared: mayBeShared)
    }

    /// The request as it may go on after its caller was answered.
    var withoutDeadline: ForwardedRequest {
        ForwardedRequest(
            plain.withoutDeadline, changed?.withoutDeadline, key, purpose, cause, fallback, isReplacing, sent,
            mayBeShared: mayBeShared)
    }
}

extension Request {
    /// Whether a request may get the response of an earlier one: not if the caller wants an answer of now, or of a limited
    /// age.
    fileprivate func mayShare(_ wanted: CacheRequest) -> Bool {
        options.allowsCoalescing && !wanted.needsValidation && wanted.maxAge == nil
    }

    fileprivate var withoutDeadline: Request {
        var request = self
        (request.options.deadline, request.options.bodyDeadline) = (nil, nil)
        request.options.waitingCallers = nil
        return request
    }
}
