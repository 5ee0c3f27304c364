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

    /// Decides where the request selects none of the stored responses.
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

    /// Decides where the stored response was requested with another cookie, and may depend on it.
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
