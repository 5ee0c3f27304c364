import DecorumSecrets
package import Foundation
package import HTTPTypes

/// The fields by which a server says that it accepts no further request for some time.
///
/// They are the field `RateLimit` of the draft "RateLimit header fields for HTTP" in its present form, such as
/// `"default";r=0;t=30`, and in its older ones, `limit=100, remaining=0, reset=30` and `RateLimit-Remaining`; and the
/// fields `X-RateLimit-Remaining` and `X-RateLimit-Reset` that many servers send, also as `X-Rate-Limit-…`.
enum RateLimitFields {
    /// A limit of which nothing remains.
    struct UsedLimit: Equatable {
        /// The time until it is renewed; nil if no field says when.
        let renewal: Duration?
    }

    private typealias Pair = (remaining: String, reset: [String])

    private static let pairs: [Pair] = [
        ("ratelimit-remaining", ["ratelimit-reset"]),
        ("x-ratelimit-remaining", ["x-ratelimit-reset-after", "x-ratelimit-reset"]),
        ("x-rate-limit-remaining", ["x-rate-limit-reset"]),
    ]

    private static let names = FieldNames(
        Set(
            (["RateLimit"] + pairs.flatMap { [$0.remaining] + $0.reset }).compactMap { HTTPField.Name($0) }))

    /// Returns the limit of which nothing remains, and of several, that which is renewed last.
    static func usedLimit(in fields: HTTPFields, at date: @autoclosure () -> Date) -> UsedLimit? {
        // Nearly no response has one of the fields.
        fields.contains(where: { names.contains($0.name) }) ? lastUsedLimit(in: fields, at: date()) : nil
    }

    @inline(never) private static func lastUsedLimit(in fields: HTTPFields, at date: Date) -> UsedLimit? {
        let date = fields.serverDate(at: date)
        let limits = ([structuredLimit(in: fields)] + pairs.map { limit(of: $0, in: fields, at: date) })
            .compactMap { $0 }
        return limits.isEmpty ? nil : UsedLimit(renewal: limits.compactMap(\.renewal).max())
    }

    @inline(never) private static func structuredLimit(in fields: HTTPFields) -> UsedLimit? {
        guard let name = HTTPField.Name("RateLimit"), fields.contains(name) else { return nil }
        if let list = try? StructuredList(name, in: fields) {
            let items = list.members.compactMap(\.item).filter { $0.parameters["r"]?.integer == 0 }
            let times = items.compactMap { $0.parameters["t"]?.integer }.compactMap { duration(Double($0)) }
            return items.isEmpty ? nil : UsedLimit(renewal: times.max())
        }
        guard let limit = try? StructuredDictionary(name, in: fields), limit["remaining"]?.item?.value.integer == 0
        else { return nil }
        return UsedLimit(renewal: (limit["reset"]?.item?.value.integer).flatMap { duration(Double($0)) })
    }

    @inline(never) private static func limit(of pair: Pair, in fields: HTTPFields, at date: Date) -> UsedLimit? {
        guard let remaining = value(of: pair.remaining, in: fields).flatMap(Double.init), remaining <= 0 else {
            return nil
        }
        let reset = pair.reset.lazy.compactMap { value(of: $0, in: fields).flatMap(Double.init) }.first
        return UsedLimit(renewal: reset.flatMap { duration(secondsFromNow($0, at: date)) })
    }

    @inline(never) private static func value(of name: String, in fields: HTTPFields) -> String? {
        fields.first { $0.name.canonicalName == name }.map { $0.value.trimmingCharacters(in: .whitespaces) }
    }

    /// Servers send a number of seconds, or the time of the reset in seconds or milliseconds since 1970.
    private static func secondsFromNow(_ reset: Double, at date: Date) -> Double {
        switch reset {
        case 1e12...: reset / 1000 - date.timeIntervalSince1970
        case 1e9...: reset - date.timeIntervalSince1970
        default: reset
        }
    }

    private static func duration(_ seconds: Double) -> Duration? {
        seconds > 0 ? .seconds(min(seconds, 0x1p31)) : nil
    }
}

/// How long a server asks to wait before the next request: a number of seconds, or a date (RFC 9110, section 10.2.3).
package enum RetryAfter: Sendable, Hashable {
    /// A time to wait after the response was received.
    case delay(Duration)
    /// A point in time to wait for.
    case date(HTTPDate)

    /// Parses the value of a field; nil for a negative number, a fraction, and text that is not a date.
    package init?(_ value: String, at now: Date) {
        guard !value.isEmpty, value.allUTF8({ (0x30...0x39).contains($0) }) else {
            guard let date = HTTPDate(value, at: now) else { return nil }
            self = .date(date)
            return
        }
        // A number too large for a clock counts as 2³¹ seconds (RFC 9111, section 1.2.2).
        self = .delay(.seconds(min(Int64(value) ?? .max, 1 << 31)))
    }

    /// How long to wait after the response was received; nil for a date in the past, which only shows that the clocks differ.
    package func delay(from now: Date) -> Duration? {
        switch self {
        case .delay(let delay):
            return delay
        case .date(let date):
            let seconds = date.date.timeIntervalSince(now)
            return seconds > 0 ? .seconds(min(seconds, 0x1p31)) : nil
        }
    }

    /// Returns the longest wait that the fields of a response ask for, which was received on a date.
    package static func longestDelay(in fields: HTTPFields, at now: Date) -> Duration? {
        let date = fields.serverDate(at: now)
        return fields[values: .retryAfter].compactMap { RetryAfter($0, at: date)?.delay(from: date) }.max()
    }
}

extension HTTPFields {
    /// The date at the server when a response arrived, by its `Date` and `Age`, so that a clock of the client that is wrong
    /// changes no time that the server gives as a date; without `Date`, that of the client.
    func serverDate(at now: Date) -> Date {
        guard let sent = firstValue(of: .date).flatMap({ HTTPDate($0, at: now) }) else { return now }
        return sent.date + (age ?? 0)
    }

    /// The seconds in `Age`; of several values, the first.
    var age: Double? {
        firstValue(of: .age).flatMap { value in
            var members = ListMembers(value)
            return members.next().flatMap { DeltaSeconds.parse($0) }
        }
    }
}
