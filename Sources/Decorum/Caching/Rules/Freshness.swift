import Foundation
import HTTPTypes

/// The age of a stored response, and the time for which it may be used (RFC 9111, section 4.2).
///
/// It is computed once, when the response is stored or read, since a hit should not parse fields.
struct Freshness: Sendable {
    /// The explicit lifetime in seconds; nil when the server gave none.
    let explicitLifetime: Double?
    /// The seconds by which the content was older than the response, if a heuristic lifetime may be computed from them.
    let modifiedBefore: Double?
    /// The age, in seconds, when the response was received.
    let initialAge: Double
    /// Whether the response must not be used once it is stale, with any other setting.
    let forbidsStale: Bool
    /// Whether the response must be validated even while it is fresh.
    let needsValidation: Bool
    /// Whether the response does not change while it is fresh (RFC 8246).
    let isImmutable: Bool
    /// Whether the response is the same for all users (RFC 9111, section 5.2.2.9).
    let isPublic: Bool
    /// The seconds after becoming stale in which the response may be used while it is validated (RFC 5861, section 3).
    let staleWhileRevalidate: Double
    /// The seconds after becoming stale in which the response may be used instead of an error (RFC 5861, section 4).
    let staleIfError: Double

    init(_ head: HTTPResponse, requestDate: Date, date: Date) {
        let fields = head.headerFields
        let control = CacheControl(fields)
        let received = date.timeIntervalSince1970
        let sent = fields.firstValue(of: .date).flatMap { HTTPDate($0, at: date) }.map { Double($0.seconds) }

        explicitLifetime =
            control.seconds(of: "max-age")
            ?? fields.expires(at: date).map { max(0, $0 - (sent ?? received.rounded(.down))) }
        modifiedBefore =
            Self.heuristicStatuses.contains(head.code) || control.contains("public")
            ? fields.firstValue(of: .lastModified).flatMap { HTTPDate($0, at: date) }
                .map { max(0, (sent ?? received) - Double($0.seconds)) }
            : nil
        initialAge = Self.initialAge(
            of: fields, sent: sent, received: received, delay: received - requestDate.timeIntervalSince1970)
        needsValidation =
            control.isUnqualified("no-cache")
            || (!fields.has(.cacheControl) && fields.has(.pragma) && fields.asksForValidation)
        forbidsStale = control.contains("must-revalidate") || needsValidation
        isImmutable = control.contains("immutable")
        isPublic = control.contains("public")
        staleWhileRevalidate = control.seconds(of: "stale-while-revalidate") ?? 0
        staleIfError = control.seconds(of: "stale-if-error") ?? 0
    }

    /// The seconds from the response's creation in which it is fresh; heuristic without an explicit lifetime.
    func lifetime(guessing policy: CachingPolicy) -> Double {
        if let explicitLifetime { return explicitLifetime }
        guard let modifiedBefore else { return 0 }
        // In this order, a factor of NaN gives 0.
        return max(0, min(modifiedBefore * policy.heuristicFraction, policy.heuristicLimit.seconds))
    }

    /// `corrected_initial_age` of RFC 9111, section 4.2.3.
    private static func initialAge(of fields: HTTPFields, sent: Double?, received: Double, delay: Double) -> Double {
        // Dates are whole seconds: the fraction that a Date lacks must not count as age.
        let apparentAge = sent.map { max(0, received.rounded(.down) - $0) } ?? 0
        return max(apparentAge, (fields.age ?? 0) + max(0, delay))
    }

    /// The statuses that are cacheable by default (RFC 9110, section 15.1).
    static let heuristicStatuses: Set<Int> = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]
}

extension HTTPFields {
    /// The seconds since 1970 in `Expires`; an invalid date and several values count as the past.
    fileprivate func expires(at now: Date) -> Double? {
        guard let value = firstValue(of: .expires) else { return nil }
        guard lazy.filter({ $0.name == .expires }).count == 1, let date = HTTPDate(value, at: now) else {
            return -.infinity
        }
        return Double(date.seconds)
    }

    /// Whether `Pragma` has the meaning of `Cache-Control: no-cache`, as for a cache of HTTP/1.0 (RFC 9111, section
    /// 5.4).
    var asksForValidation: Bool {
        contains { field in
            field.name == .pragma && ListMembers(field.value).contains { $0.lowercased() == "no-cache" }
        }
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double {
        let (seconds, attoseconds) = bounded.components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
