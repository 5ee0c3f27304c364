import Foundation
import HTTPTypes

/// The decision of a cache about a request, by the stored responses (RFC 9111, section 4).
enum CacheDecision: Sendable {
    /// Answer with a stored response.
    case serve(StoredResponse, age: Double, timeToLive: Double)
    /// Answer with a stale response, and validate it meanwhile.
    case serveStale(StaleFallback, age: Double, timeToLive: Double)
    /// Ask the server whether one of the stored responses is current; the request selects the first one.
    case validate([StoredResponse], because: ForwardCause, fallback: StaleFallback?)
    /// Ask the server for the rest of a content whose start is stored (RFC 9111, section 3.3).
    case complete(StoredResponse, missing: ByteRange)
    /// Send the request as it is.
    case forward(ForwardCause, fallback: StaleFallback?)
    /// Answer `504 Gateway Timeout`, since the request must not be sent.
    case refuse(ForwardCause)

    /// Decides.
    ///
    /// - Parameters:
    ///   - request: The head of the request.
    ///   - wanted: The directives of the request to a cache.
    ///   - variants: The whole responses that are stored for its key, the latest first.
    ///   - now: The date.
    ///   - policy: The choices that the rules leave.
    /// - Returns: The decision.
    static func decide(
        _ request: HTTPRequest, wanting wanted: CacheRequest, from variants: [StoredResponse], at now: Date,
        policy: CachingPolicy
    ) -> CacheDecision {
        let selected = variants.first { $0.isSelected(by: request) }
        if policy.mode == .validating { return decide(request, validating: selected, of: variants) }
        guard let stored = selected else { return decide(request, wanting: wanted, fromOtherVariants: variants) }
        if wanted.hasCookie || !stored.wasRequestedWithoutCookie, stored.cookieDiffers(from: request.headerFields) {
            return decide(request, wanting: wanted, fromOtherCookie: stored, at: now, policy: policy)
        }

        guard !stored.isPart || PartialContent.canAnswer(Preconditions.range(of: request, in: stored), from: stored)
        else {
            if wanted.isOnlyIfCached { return .refuse(.part) }
            guard request.method == .get, !request.headerFields.has(.range),
                let missing = PartialContent.missing(after: stored)
            else { return .forward(.part, fallback: nil) }
            return .complete(stored, missing: missing)
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
                return .serveStale(fallback, age: age, timeToLive: timeToLive)
            }
        }

        let cause: ForwardCause =
            wanted.followsChange ? .change : freshness.needsValidation ? .noCache : timeToLive > 0 ? .request : .stale
        if wanted.isOnlyIfCached { return .refuse(cause) }
        return stored.head.headerFields.hasValidator
            ? .validate([stored], because: cause, fallback: fallback) : .forward(cause, fallback: fallback)
    }

    /// Decides for a cache that asks the server each time.
    private static func decide(
        _ request: HTTPRequest, validating stored: StoredResponse?, of variants: [StoredResponse]
    ) -> CacheDecision {
        guard let stored else { return .forward(variants.isEmpty ? .nothingStored : .vary, fallback: nil) }
        if stored.cookieDiffers(from: request.headerFields), !canConfirm(stored, for: request) {
            return .forward(.cookie, fallback: nil)
        }
        return .validate([stored], because: .validating, fallback: nil)
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
        let candidates = variants.filter { canConfirm($0, for: request) }.prefix(8)
        return candidates.isEmpty
            ? .forward(cause, fallback: nil) : .validate(Array(candidates), because: cause, fallback: nil)
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
        return canConfirm(stored, for: request)
            ? .validate([stored], because: .cookie, fallback: nil) : .forward(.cookie, fallback: nil)
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
        case .serve(_, _, let timeToLive):
            CallDecision(
                .answers, by: mode.layerName,
                timeToLive > 0
                    ? "with a response that is fresh for \(Self.words(timeToLive))"
                    : "with a response that is stale for \(Self.words(-timeToLive)), as the request accepts")
        case .serveStale(_, _, let timeToLive):
            .staleAnswer(by: mode, staleFor: -timeToLive, validation: .begins)
        case .refuse(let cause):
            CallDecision(.answers, by: mode.layerName, "504, because of only-if-cached; \(Self.words(cause))")
        case .validate(_, let cause, _):
            CallDecision(
                .forwards, by: mode.layerName, "asks whether a stored response is current; \(Self.words(cause))")
        case .complete:
            CallDecision(.forwards, by: mode.layerName, "asks for the rest of a stored part")
        case .forward(let cause, _):
            CallDecision(.forwards, by: mode.layerName, Self.words(cause))
        }
    }

    private static func words(_ cause: ForwardCause) -> String { cause.detail ?? "nothing is stored" }

    fileprivate static func words(_ seconds: Double) -> String { "\(Int64(max(0, min(seconds, 0x1p31)))) s" }
}

extension CallDecision {
    /// The decision to answer with a stale response, which is validated in the background or will be.
    static func staleAnswer(
        by mode: CacheMode, staleFor seconds: Double, validation: BackgroundValidations.Beginning
    ) -> CallDecision {
        CallDecision(
            .answers, by: mode.layerName,
            "with a response that is stale for \(CacheDecision.words(seconds)), \(validation.words)")
    }
}

extension CacheMode {
    /// The name of the layer that works in this mode.
    var layerName: String { self == .validating ? "revalidating" : "caching" }
}

/// The way in which a cache uses its stored responses.
enum CacheMode: Sendable {
    /// A stored response answers while it is fresh: ``Connection/caching(in:policy:clock:spawner:)``.
    case answering
    /// The server is asked each time, only a `200` with a validator or a `Date` is stored, a `HEAD` has a response of its
    /// own, and a request with its own conditions passes: ``Connection/revalidating(in:answering:clock:)``.
    case validating

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
        case .change: "not used: resources of the origin may have changed since (RFC 9111, 4.4)"
        case .validating: "not used: the server is asked each time (RFC 9111, 4.3)"
        case .stale: "not used: the stored response is stale (RFC 9111, 4.2)"
        }
    }
}
