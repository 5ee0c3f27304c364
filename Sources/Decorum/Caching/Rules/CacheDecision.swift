import Foundation
import HTTPTypes

/// The decision of a cache about a request, by the stored responses (RFC 9111, section 4).
enum CacheDecision: Sendable {
    /// Answer with a stored response.
    case serve(StoredResponse, age: Double, timeToLive: Double)
    /// Answer with a stale response, and validate it meanwhile.
    case serveStale(StaleFallback, age: Double, timeToLive: Double)
    /// Ask the server whether one of the stored responses is current; the request selects the first one.
    case validate([StoredResponse], reason: CacheStatus.ForwardReason, fallback: StaleFallback?)
    /// Ask the server for the rest of a content whose start is stored (RFC 9111, section 3.3).
    case complete(StoredResponse, missing: ByteRange)
    /// Send the request as it is.
    case forward(CacheStatus.ForwardReason, fallback: StaleFallback?)
    /// Answer `504 Gateway Timeout`, since the request must not be sent.
    case refuse(CacheStatus.ForwardReason)

    /// Decides.
    ///
    /// - Parameters:
    ///   - request: The head of the request.
    ///   - wanted: The wishes of the request to a cache.
    ///   - variants: The whole responses that are stored for its key, the latest first.
    ///   - now: The date.
    ///   - policy: The choices that the rules leave.
    /// - Returns: The decision.
    static func decide(
        _ request: HTTPRequest, wanting wanted: CacheRequest, from variants: [StoredResponse], at now: Date,
        policy: CachingPolicy
    ) -> CacheDecision {
        let range = request.headerFields.firstValue(of: .range).flatMap { ByteRange($0) }
        guard let stored = variants.first(where: { $0.isSelected(by: request) }) else {
            if wanted.isOnlyIfCached { return .refuse(variants.isEmpty ? .uriMiss : .varyMiss) }
            // The server may choose one that it gave to other requests (RFC 9111, section 4.3.1); a weak tag may be the
            // same for all variants.
            let candidates = variants.filter { stored in
                PartialContent.strongTag(of: stored.head) != nil && PartialContent.canAnswer(range, from: stored)
            }.prefix(8)
            if candidates.isEmpty { return .forward(variants.isEmpty ? .uriMiss : .varyMiss, fallback: nil) }
            return .validate(Array(candidates), reason: .varyMiss, fallback: nil)
        }

        guard PartialContent.canAnswer(range, from: stored) else {
            if wanted.isOnlyIfCached { return .refuse(.partial) }
            guard range == nil, request.method == .get, let missing = PartialContent.missing(after: stored) else {
                return .forward(.partial, fallback: nil)
            }
            return .complete(stored, missing: missing)
        }

        let freshness = stored.freshness
        let age = stored.age(at: now)
        let timeToLive = freshness.lifetime(guessing: policy) - age
        let isYoungEnough = age <= wanted.maxAge ?? .infinity || (freshness.isImmutable && timeToLive > 0)
        let isUsable = !wanted.needsValidation && !freshness.needsValidation && isYoungEnough
        if isUsable, timeToLive > 0, timeToLive >= wanted.minFresh {
            return .serve(stored, age: age, timeToLive: timeToLive)
        }
        let staleness = max(0, -timeToLive)
        let isWithin = { (grace: Double) in grace > 0 && staleness <= grace }
        let fallback =
            freshness.forbidsStale || wanted.needsValidation || !isYoungEnough
            ? nil
            : StaleFallback(
                stored: stored,
                isUsedForErrors: isWithin(max(freshness.staleIfError, wanted.staleIfError)),
                isUsedWhereUnreachable: isWithin(policy.staleIfUnreachable.seconds))
        if let fallback {
            if let maxStale = wanted.maxStale {
                if timeToLive + maxStale >= wanted.minFresh {
                    return .serve(stored, age: age, timeToLive: timeToLive)
                }
            } else if wanted.minFresh == 0, staleness < freshness.staleWhileRevalidate, !wanted.isOnlyIfCached {
                return .serveStale(fallback, age: age, timeToLive: timeToLive)
            }
        }

        let reason: CacheStatus.ForwardReason =
            timeToLive > 0 && !freshness.needsValidation ? .request : .stale
        if wanted.isOnlyIfCached { return .refuse(reason) }
        return stored.hasValidator
            ? .validate([stored], reason: reason, fallback: fallback) : .forward(reason, fallback: fallback)
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
    func replaces(_ error: any Error) -> Bool {
        (isUsedForErrors || isUsedWhereUnreachable) && !(error is CancellationError)
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

    var hasValidator: Bool {
        head.headerFields.contains(.eTag) || head.headerFields.contains(.lastModified)
    }
}
