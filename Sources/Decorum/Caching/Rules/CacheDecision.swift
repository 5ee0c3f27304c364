import Foundation
import HTTPTypes

/// The decision of a cache about a request, by the stored responses (RFC 9111, section 4).
enum CacheDecision: Sendable {
    /// Answer with a stored response, and validate it meanwhile if it is stale and not accepted as such by the request.
    case serve(StoredResponse, age: Double, timeToLive: Double, validating: StaleFallback? = nil)
    /// Send the request, as it is or with a question about stored responses.
    case forward(ForwardedRequest.Purpose = .ask([]), because: ForwardCause, fallback: StaleFallback? = nil)
    /// Answer `504 Gateway Timeout`, since the request must not be sent.
    case refuse(ForwardCause)

    static func decide(
        _ request: HTTPRequest, wanting wanted: CacheRequest, from variants: [StoredResponse], at now: Date,
        policy: CachingPolicy
    ) -> CacheDecision {
        let place = variants.firstIndex { $0.isSelected(by: request) }
        if policy.mode == .validating { return decide(request, validating: place.map { variants[$0] }, of: variants) }
        guard let place else { return decide(request, wanting: wanted, fromOtherVariants: variants) }
        let stored = variants[place]
        if wanted.hasCookie || !stored.wasRequestedWithoutCookie, stored.cookieDiffers(from: request.headerFields) {
            return decide(request, wanting: wanted, fromOtherCookie: stored, at: now, policy: policy)
        }

        guard !stored.isPart || PartialContent.canAnswer(Preconditions.range(of: request, in: stored), from: stored)
        else {
            if wanted.isOnlyIfCached { return .refuse(.part) }
            guard request.method == .get, !request.headerFields.has(.range),
                let missing = PartialContent.missing(after: stored)
            else { return .forward(because: .part) }
            return .forward(.complete(stored, missing: missing), because: .part)
        }

        let freshness = stored.freshness
        let age = stored.age(at: now)
        let timeToLive = freshness.lifetime(guessing: policy) - age
        let isYoungEnough = wanted.accepts(stored, age: age, timeToLive: timeToLive)
        if isYoungEnough, !freshness.needsValidation, timeToLive > 0, timeToLive >= wanted.minFresh {
            return .serve(stored, age: age, timeToLive: timeToLive)
        }
        let staleness = max(0, -timeToLive)
        let isWithin = { (grace: Double) in grace > 0 && staleness <= grace }
        let fallback =
            freshness.forbidsStale || !isYoungEnough
            ? nil
            : StaleFallback(
                stored: stored,
                isUsedForErrors: isWithin(
                    max(freshness.staleIfError, wanted.staleIfError, policy.staleIfError.seconds)),
                isUsedWhereUnreachable: isWithin(
                    wanted.staleIfUnreachable ?? policy.staleIfUnreachable.seconds))
        if let fallback {
            if let maxStale = wanted.maxStale {
                if timeToLive + maxStale >= wanted.minFresh {
                    return .serve(stored, age: age, timeToLive: timeToLive)
                }
            } else if wanted.minFresh == 0, staleness < freshness.staleWhileRevalidate, !wanted.isOnlyIfCached {
                return .serve(stored, age: age, timeToLive: timeToLive, validating: fallback)
            }
        }

        let cause: ForwardCause = freshness.needsValidation ? .noCache : timeToLive > 0 ? .request : .stale
        if wanted.isOnlyIfCached { return .refuse(cause) }
        return .forward(
            .ask(stored.head.headerFields.hasValidator ? [stored] : []), because: cause, fallback: fallback)
    }

    /// Decides for a cache that asks the server each time.
    private static func decide(
        _ request: HTTPRequest, validating stored: StoredResponse?, of variants: [StoredResponse]
    ) -> CacheDecision {
        guard let stored else { return .forward(because: variants.isEmpty ? .nothingStored : .vary) }
        if stored.cookieDiffers(from: request.headerFields), !canConfirm(stored, for: request) {
            return .forward(because: .cookie)
        }
        return .forward(.ask([stored]), because: .validating)
    }

    /// Decides if the request selects none of the stored responses.
    ///
    /// The server may choose one that it gave to other requests (RFC 9111, section 4.3.1); a weak tag may be the same
    /// for all variants.
    private static func decide(
        _ request: HTTPRequest, wanting wanted: CacheRequest, fromOtherVariants variants: [StoredResponse]
    ) -> CacheDecision {
        let cause: ForwardCause = variants.isEmpty ? .nothingStored : .vary
        if wanted.isOnlyIfCached { return .refuse(cause) }
        return .forward(.ask(Array(variants.filter { canConfirm($0, for: request) }.prefix(8))), because: cause)
    }

    /// Decides if the stored response was requested with another cookie, and may depend on it.
    ///
    /// Only a strong tag shows that the content is the same for both cookies. A fresh response that was requested
    /// without a cookie is used as it is.
    private static func decide(
        _ request: HTTPRequest, wanting wanted: CacheRequest, fromOtherCookie stored: StoredResponse, at now: Date,
        policy: CachingPolicy
    ) -> CacheDecision {
        let range = Preconditions.range(of: request, in: stored)
        let age = stored.age(at: now)
        let timeToLive = stored.freshness.lifetime(guessing: policy) - age
        if stored.wasRequestedWithoutCookie, !stored.freshness.needsValidation, timeToLive > 0,
            timeToLive >= wanted.minFresh, wanted.accepts(stored, age: age, timeToLive: timeToLive),
            PartialContent.canAnswer(range, from: stored)
        {
            return .serve(stored, age: age, timeToLive: timeToLive)
        }
        if wanted.isOnlyIfCached { return .refuse(.cookie) }
        return .forward(.ask(canConfirm(stored, for: request) ? [stored] : []), because: .cookie)
    }

    /// Whether a `304` with the response's strong tag would make it an answer to a request that does not select it.
    private static func canConfirm(_ stored: StoredResponse, for request: HTTPRequest) -> Bool {
        PartialContent.strongTag(of: stored.head) != nil
            && PartialContent.canAnswer(Preconditions.range(of: request, in: stored), from: stored)
    }
}

extension CacheRequest {
    /// Whether the request accepts a stored response of an age without a validation.
    fileprivate func accepts(_ stored: StoredResponse, age: Double, timeToLive: Double) -> Bool {
        !needsValidation && (age <= maxAge ?? .infinity || (stored.freshness.isImmutable && timeToLive > 0))
    }
}

/// A stale response that may be used when the server does not give a good response.
struct StaleFallback: Sendable {
    let stored: StoredResponse
    /// Whether it replaces a response with a server error (RFC 5861, section 4).
    let isUsedForErrors: Bool
    /// Whether it replaces an error of `base` (RFC 9111, section 4.2.4).
    let isUsedWhereUnreachable: Bool

    /// Whether it is used in place of a response.
    func replaces(_ response: HTTPResponse) -> Bool {
        isUsedForErrors && [500, 502, 503, 504].contains(response.status.code)
    }

    /// Whether it is used in place of an error.
    func replaces(_ error: any Error, by policy: CachingPolicy) -> Bool {
        (isUsedForErrors || isUsedWhereUnreachable) && !(error is CancellationError)
            && policy.meansServerNotReached(error)
    }
}

extension StoredResponse {
    /// The seconds since the server made the response or confirmed it: `current_age` of RFC 9111, section 4.2.3.
    ///
    /// When the clock has been set back since, that time is added to the age. Otherwise a response with a date in the
    /// future would stay fresh until then.
    func age(at now: Date) -> Double {
        freshness.initialAge + abs(now.timeIntervalSince(date))
    }
}

extension CacheDecision {
    /// The decision with its reason, for the context of a call.
    func told(by mode: CacheMode) -> CallDecision {
        switch self {
        case .serve(_, _, let timeToLive, let stale):
            CallDecision(
                .answers, by: mode.layerName,
                timeToLive > 0
                    ? "with a response that is fresh for \(Self.words(timeToLive))"
                    : "with a response that is stale for \(Self.words(-timeToLive)), "
                        + (stale == nil ? "as the request accepts" : "within its stale-while-revalidate"))
        case .refuse(let cause):
            CallDecision(.answers, by: mode.layerName, "504, because of only-if-cached; \(Self.words(cause))")
        case .forward(.complete, _, _):
            CallDecision(.forwards, by: mode.layerName, "asks for the rest of a stored part")
        case .forward(.ask(let stored), let cause, _):
            CallDecision(
                .forwards, by: mode.layerName,
                (stored.isEmpty ? "" : "asks whether a stored response is current; ") + Self.words(cause))
        }
    }

    private static func words(_ cause: ForwardCause) -> String { cause.detail ?? "nothing is stored" }

    private static func words(_ seconds: Double) -> String { "\(Int64(max(0, min(seconds, 0x1p31)))) s" }
}

/// The way in which a cache uses its stored responses.
enum CacheMode: Sendable {
    /// A stored response answers while it is fresh: ``Connection/caching(in:policy:clock:spawner:)``.
    case answering
    /// The server is asked each time, only a `200` with a validator or a `Date` is stored, a `HEAD` has a response of its
    /// own, and a request with its own conditions passes: ``Connection/revalidating(in:answering:clock:)``.
    case validating

    /// The name of the layer that works in this mode.
    var layerName: String { self == .validating ? "revalidating" : "caching" }

    /// The method under whose key a response is stored that answers a method.
    ///
    /// A response to `GET` answers `HEAD` too, and the response to a `POST` may answer `GET`; a `QUERY` has responses of
    /// its own.
    func methodOfStoredResponse(to method: HTTPRequest.Method) -> HTTPRequest.Method {
        self == .validating || method == .query ? method : .get
    }

    /// Whether a response shows that the stored responses are outdated, even if it is not stored itself.
    func outdates(_ status: HTTPResponse.Status) -> Bool {
        if self == .validating { return status == .ok }
        return (200..<300).contains(status.code) || status == .notFound || status == .gone
    }
}

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
        case .noCache, .stale, .validating: .stale
        }
    }

    /// The cause in words, with the section of the RFC; nil if no stored response could be used.
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
        case .validating: "not used: the server is asked each time (RFC 9111, 4.3)"
        case .stale: "not used: the stored response is stale (RFC 9111, 4.2)"
        }
    }
}

/// The directives of a request to a cache: its `Cache-Control` (RFC 9111, section 5.2.1) and ``RequestOptions/cacheUse``.
struct CacheRequest: Sendable {
    /// Whether the request has a field that a cache evaluates: a directive, a condition or a range.
    let hasCacheFields: Bool
    let hasCookie: Bool
    /// Whether a stored response must be validated before it is used.
    var needsValidation = false
    /// Whether this exchange must neither be stored nor be answered from the store.
    var isNoStore = false
    /// Whether the network must not be used.
    var isOnlyIfCached = false
    /// The largest age in seconds that is acceptable.
    var maxAge: Double?
    /// The largest number of seconds by which a response may be stale.
    var maxStale: Double?
    /// The seconds for which a response must stay fresh.
    var minFresh: Double = 0
    /// The seconds by which a response may be stale that is used instead of an error (RFC 5861, section 4).
    var staleIfError: Double = 0
    /// The seconds by which a response may be stale while the server cannot be reached; nil for the limit of the policy.
    var staleIfUnreachable: Double?

    init(_ fields: HTTPFields, _ telling: TellingFields, use: CacheUse) {
        (hasCacheFields, hasCookie) = (telling.hasCacheFields, telling.hasCookie)
        if hasCacheFields { read(fields) }
        switch use {
        case .standard: break
        case .reload: needsValidation = true
        case .preferringStored: maxStale = .infinity
        case .onlyStored:
            maxStale = .infinity
            isOnlyIfCached = true
        case .none: isNoStore = true
        }
    }

    private mutating func read(_ fields: HTTPFields) {
        guard fields.has(.cacheControl) else {
            if fields.has(.pragma) { needsValidation = fields.asksForValidation }
            return
        }
        let control = CacheControl(fields)
        needsValidation = control.contains("no-cache")
        isNoStore = control.contains("no-store")
        isOnlyIfCached = control.contains("only-if-cached")
        maxAge = control.seconds(of: "max-age")
        if control.contains("max-stale") {
            maxStale = control.argument(of: "max-stale") == nil ? .infinity : control.seconds(of: "max-stale")
        }
        minFresh = control.seconds(of: "min-fresh") ?? 0
        staleIfError = control.seconds(of: "stale-if-error") ?? 0
    }
}

extension CacheRequest {
    /// Whether a request may get the response of an earlier one: not if the caller wants an answer of now, or of a limited
    /// age.
    func allowsSharing(_ options: borrowing RequestOptions) -> Bool {
        options.allowsCoalescing && !needsValidation && maxAge == nil
    }

    /// The cause for which a request must be sent to the server with any stored responses; nil without such a cause.
    func causeToPass(_ request: borrowing Request, in mode: CacheMode = .answering) -> ForwardCause? {
        if isNoStore { return .requestNoStore }
        let method = request.head.method
        let isQuery = method == .query && mode == .answering
        guard method == .get || method == .head || isQuery else { return .method }
        guard isQuery || request.body.isEmpty else { return .content }
        guard hasCacheFields else { return nil }
        let fields = request.head.headerFields
        if Preconditions.needOrigin(fields, in: mode) { return .precondition }
        guard let range = fields.firstValue(of: .range) else { return nil }
        return method == .get && mode == .answering && ByteRange(range) != nil ? nil : .range
    }
}
