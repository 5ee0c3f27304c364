import HTTPTypes

/// A request that a cache forwards to the server, and its purpose.
///
/// It is a class, since copies of two requests would cost more than all decisions about them.
final class ForwardedRequest: Sendable {
    /// The response that the request asks for.
    enum Purpose: Sendable {
        /// A whole response, or the confirmation of one of these stored responses; the request selects the first one.
        case ask([StoredResponse])
        /// The rest of a content whose start is stored (RFC 9111, section 3.3).
        case complete(StoredResponse, missing: ByteRange)
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
        _ plain: consuming Request, key: ResponseKey, for purpose: Purpose = .ask([]), because cause: ForwardCause,
        fallback: StaleFallback? = nil, replacing: Bool = true, mayBeShared: Bool, datedBy clock: any DatedClock
    ) {
        let sent = plain.collectSent(datedBy: clock)
        var changed: Request?
        switch purpose {
        case .ask(let stored) where stored.isEmpty: break
        case .ask(let stored):
            var request = copy plain
            Validation.ask(about: stored, in: &request.head.headerFields, byDate: cause == .validating)
            changed = request
        case .complete(let stored, let missing):
            var request = copy plain
            request.head.headerFields[.range] = missing.value
            if let tag = PartialContent.strongTag(of: stored.head) { request.head.headerFields[.ifRange] = tag }
            changed = request
        }
        self.init(plain, changed, key, purpose, cause, fallback, replacing, sent, mayBeShared)
    }

    private init(
        _ plain: consuming Request, _ changed: consuming Request?, _ key: ResponseKey, _ purpose: Purpose,
        _ cause: ForwardCause, _ fallback: StaleFallback?, _ isReplacing: Bool, _ sent: SentRequests,
        _ mayBeShared: Bool
    ) {
        (self.plain, self.changed, self.key, self.purpose) = (plain, changed, key, purpose)
        (self.cause, self.fallback, self.isReplacing) = (cause, fallback, isReplacing)
        (self.sent, self.mayBeShared) = (sent, mayBeShared)
    }

    /// The request as it is sent for several callers, or with nil for one alone.
    func request(for callers: (any WaitingCallers)?) -> Request { (changed ?? plain).sent(for: callers) }

    /// The same request without the fields that the cache adds.
    var withoutConditions: ForwardedRequest {
        var plain = plain
        plain.options = plain.options.travelling(.attempts)
        return ForwardedRequest(plain, nil, key, .ask([]), cause, fallback, true, sent, mayBeShared)
    }

    /// The request as it may go on after its caller was answered.
    var withoutDeadline: ForwardedRequest {
        ForwardedRequest(
            plain.withoutDeadline, changed?.withoutDeadline, key, purpose, cause, fallback, isReplacing, sent,
            mayBeShared)
    }
}

extension Request {
    /// The request that validates a stale response in the background, without the conditions of the caller, which do not
    /// concern it.
    consuming func validating(_ stored: StoredResponse) -> Request {
        options = options.travelling(.backgroundRequests)
        head.headerFields[.ifNoneMatch] = nil
        head.headerFields[.ifModifiedSince] = nil
        // For a stored part, the rest may not be worth a transfer; for a whole response it is.
        if !stored.isPart {
            head.headerFields[.range] = nil
            head.headerFields[.ifRange] = nil
        }
        return self
    }

    fileprivate var withoutDeadline: Request {
        var request = self
        (request.options.deadline, request.options.bodyDeadline) = (nil, nil)
        request.options.waitingCallers = nil
        return request
    }
}
