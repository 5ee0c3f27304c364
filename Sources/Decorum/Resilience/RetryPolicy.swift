import DecorumSecrets
package import Foundation
public import HTTPTypes

/// The rules of ``Connection/retrying(_:clock:generator:)``: which requests are sent again, how often, after which wait,
/// and from which budget.
///
/// ```swift
/// let policy = RetryPolicy(when: .standard || .status(403), maximumRetryAfter: .seconds(300))
/// ```
///
/// A request is sent twice only where that is safe: see ``methods``. A policy is `Codable`, with durations in seconds and
/// the standard's value for each key that is missing, unless its rule holds a closure or its budget is one of its own.
public struct RetryPolicy: Sendable, Hashable {
    /// The largest number of times that a request is sent again, as far as the ``budget`` allows it; a negative number counts
    /// as 0.
    ///
    /// So `retries: 3` sends a request up to four times, and ``Connection/bounds`` counts the same. One of them is made at
    /// once and costs no budget: if the server has certainly not processed the request, or if the used connection on which
    /// it was sent was lost before the first byte of the response (``TransportError/isUnprocessed``,
    /// ``TransportError/hasLostReusedConnection``).
    public var retries: Int
    /// The responses and errors to try again after.
    public var when: RetryRule
    /// The methods that may be sent twice, because they are idempotent (RFC 9110, section 9.2.2).
    ///
    /// A request with another method is sent again if it has an `Idempotency-Key`, which
    /// ``Connection/addingIdempotencyKey(to:generator:)`` adds, or after an error that means that no server has carried
    /// it out (``TemporaryError/meansNotProcessed``), such as a refused connection.
    public var methods: Set<HTTPRequest.Method>
    /// The longest time to wait before the first retry, when the server names no time.
    public var baseDelay: Duration
    /// The factor by which the longest time grows with each further retry; a number below 1 counts as 1.
    public var factor: Double
    /// The limit of the longest time, after any number of retries.
    public var maximumDelay: Duration
    /// The part of the longest time that is waited for in any case, from 0 to 1; the rest of the wait is random.
    public var certainPart: Double
    /// The longest `Retry-After` to wait for, without the spread that is added.
    ///
    /// A response that asks for a longer wait is returned; the request is never sent earlier than the server asks. If a
    /// server gives many clients the same date, and it is 40 seconds or more ahead, each second of the spread gets 5 %
    /// of the clients on average. With a shorter time, each second gets more of them, such as 10 % with 20 seconds.
    public var maximumRetryAfter: Duration
    /// The budget that allows or refuses each retry.
    public var budget: RetryBudget

    /// Creates a policy from its values; ``standard`` has the defaults.
    public init(
        retries: Int = 3,
        when: RetryRule = .standard,
        methods: Set<HTTPRequest.Method> = Self.idempotentMethods,
        baseDelay: Duration = .milliseconds(500),
        factor: Double = 2,
        maximumDelay: Duration = .seconds(20),
        certainPart: Double = 0,
        maximumRetryAfter: Duration = .seconds(60),
        budget: RetryBudget = .shared
    ) {
        self.retries = retries
        self.when = when
        self.methods = methods
        self.baseDelay = baseDelay
        self.factor = factor
        self.maximumDelay = maximumDelay
        self.certainPart = certainPart
        self.maximumRetryAfter = maximumRetryAfter
        self.budget = budget
    }

    /// `GET`, `HEAD`, `OPTIONS`, `TRACE`, `PUT`, `DELETE` and `QUERY` (RFC 9110, section 9.2.2).
    public static let idempotentMethods: Set<HTTPRequest.Method> = HTTPRequest.Method.idempotent
}

extension RetryPolicy {
    /// Three retries of idempotent requests, after a random part of 0.5, 1 and 2 seconds, from the budget of the process.
    public static let standard = RetryPolicy()

    /// The policy of an app: ``standard``.
    public static let app = standard

    /// The policy of a server that sends requests while its own callers wait: as ``standard``, but it waits for a
    /// `Retry-After` of up to 5 seconds only.
    public static let server = RetryPolicy(maximumRetryAfter: .seconds(5))

    /// The policy of a command that a person or a script runs once: two retries of the call's own, and one at once after a
    /// lost connection, without a budget that calls share.
    ///
    /// The waits are 0.75 to 1.5 and 1.5 to 3 seconds, so that a command survives a restart of the server of 2 seconds.
    public static let tool = RetryPolicy(
        retries: 3, baseDelay: .milliseconds(1500), certainPart: 0.5, budget: .perCall(2))

    /// No retry.
    public static let never = RetryPolicy(retries: 0)

    /// Not a policy, since `.none` as a value of ``RequestOptions/retryPolicy`` means nil, and so the policy of the layer.
    @available(*, unavailable, message: "Write .never to send no request again, or nil for the policy of the layer.")
    public static let none = RetryPolicy(retries: 0)
}

extension RetryPolicy {
    /// How often a request is sent: once, and once for each retry.
    var sends: ClosedRange<Int> { 1...(min(allowedRetries, .max - 1) + 1) }

    /// The number of retries: as many as the budget of each call pays for, and one at once that costs nothing.
    private var allowedRetries: Int { paidRetries < retries ? paidRetries + 1 : paidRetries }

    /// The number of retries that the budget of each call pays for.
    private var paidRetries: Int {
        guard case .perCall(let limit) = budget.kind else { return max(0, retries) }
        return max(0, min(retries, limit))
    }

    /// The sum of the longest waits before all retries.
    package var longestWait: Layer.Bound<Duration> { sum { $0 } }

    /// The time for reading the responses after which a request is sent again, as far as it is longer than the waits, which
    /// begin at the same time.
    var longestReading: Layer.Bound<Duration> { sum { max(.zero, Body.discardTime - $0) } }

    /// Adds up a time for each retry, which is given its longest wait.
    private func sum(_ time: (_ longestWait: Duration) -> Duration) -> Layer.Bound<Duration> {
        let asked = maximumRetryAfter < .zero ? .zero : AskedWait.spread(maximumRetryAfter).upperBound
        let longest = max(.zero, maximumDelay, asked)
        guard longest < .seconds(1 << 30), paidRetries < 1 << 30 else { return .unbounded }
        let first = min(paidRetries, 64)
        let growing = (0..<first).reduce(Duration.zero) { $0 + time(max(backoff(afterRetries: $1).upperBound, asked)) }
        return .atMost(growing + time(longest) * (paidRetries - first))
    }

    /// The effects that other layers have to know.
    var layerFacts: Set<Layer.Fact> {
        guard retries > 0 else { return [] }
        var facts: Set<Layer.Fact> = [.readsStatus]
        if !methods.isSubset(of: Self.idempotentMethods) { facts.insert(.repeatsUnsafeMethods) }
        if budget == .unlimited { facts.insert(.resendsWithoutBudget) }
        return facts
    }

    /// The number of retries, and the settings that differ from the standard.
    var layerSettings: [Layer.Setting] {
        var settings = [Layer.Setting("retries", max(0, retries))]
        if when != Self.standard.when { settings.append(.init("when", when)) }
        if methods != Self.idempotentMethods {
            settings.append(.init("methods", methods.map(\.rawValue).sorted().joined(separator: " ")))
        }
        if maximumRetryAfter != Self.standard.maximumRetryAfter {
            settings.append(.init("maximumRetryAfter", maximumRetryAfter))
        }
        if budget != .shared { settings.append(.init("budget", budget)) }
        return settings
    }
}

extension RequestOptions {
    /// The retry policy for this request, instead of the policies of the stack; nil to use the policies of the stack.
    public var retryPolicy: RetryPolicy? {
        get { self[RetryPolicyKey.self] }
        set { self[RetryPolicyKey.self] = newValue }
    }
}

private enum RetryPolicyKey: RequestOptionKey {
    static let defaultValue: RetryPolicy? = nil
    static let travels: OptionTravel = [.all, .comparedWhenShared]
}

/// A rule that says after which responses and errors a request is tried again.
///
/// Rules combine with `||`: the first that speaks about an outcome decides. A closure decides what no other rule can say:
///
/// ```swift
/// let limited = RetryRule("limited") { attempt in
///     attempt.response?.status == .forbidden && attempt.response?.headerFields.contains(.retryAfter) == true
/// }
/// let patient = RetryPolicy(when: .standard || limited)
/// ```
///
/// A rule with a ``RetryVerdict`` also says how long to wait, what to change, or that there is no retry, whatever the rules
/// behind it say:
///
/// ```swift
/// let rules = RetryRule(deciding: "overloaded") { attempt in
///     switch attempt.response?.status.code {
///     case 529: .retry(after: .seconds(5)) { $0.priority = .background }
///     case 501: .giveUp
///     default: .noOpinion
///     }
/// }
/// let policy = RetryPolicy(when: rules || .standard)
/// ```
///
/// A rule says only whether a failure may pass. It cannot make a request safe to send twice: see
/// ``RetryPolicy/methods``. A rule without a closure is `Codable`.
public struct RetryRule: Sendable, Hashable {
    /// The rules that were combined, in order; neighbours without a closure are one part.
    private var parts: [Part]
    /// The statuses of the responses that meet the rule, beside its closures.
    private var statuses: Set<HTTPResponse.Status>
    private var hasClosures: Bool
    /// The lowest code of a status that can meet the rule: most responses have a lower one, which needs no search.
    private var lowestCode: Int

    /// What speaks at one place of a rule.
    private struct Part: Sendable, Hashable {
        var statuses: Set<HTTPResponse.Status> = []
        var includesTemporaryErrors = false
        var closure: Closure?

        func verdict(on attempt: RetryAttempt) -> RetryVerdict {
            if let closure { return closure.verdict(attempt) }
            let isMet =
                attempt.response.map { statuses.contains($0.status) } ?? false
                || includesTemporaryErrors && (attempt.error as? any TemporaryError)?.mayPass == true
            return isMet ? .retry() : .noOpinion
        }
    }

    private init(_ parts: [Part]) {
        self.parts = parts
        statuses = parts.reduce(into: []) { $0.formUnion($1.statuses) }
        hasClosures = parts.contains { $0.closure != nil }
        lowestCode = hasClosures ? 0 : statuses.map(\.code).min() ?? .max
    }

    /// Creates a rule from a closure.
    ///
    /// - Parameters:
    ///   - name: A short name for the description of the layer.
    ///   - isMet: Returns whether to try again; false leaves the decision to the rules behind. It is called for each response,
    ///     also for a successful one, and for each error except a cancellation, about which no rule before has spoken.
    public init(_ name: String, _ isMet: @escaping @Sendable (_ attempt: RetryAttempt) -> Bool) {
        self.init(deciding: name) { isMet($0) ? .retry() : .noOpinion }
    }

    /// Creates a rule from a closure that may also choose the wait and change the options, or end the retries.
    ///
    /// - Parameters:
    ///   - name: A short name for the description of the layer.
    ///   - verdict: Decides about an outcome; it is called as that of ``init(_:_:)``.
    public init(deciding name: String, _ verdict: @escaping @Sendable (_ attempt: RetryAttempt) -> RetryVerdict) {
        self.init([Part(closure: Closure(name, verdict))])
    }

    /// The rule of ``RetryPolicy/standard``: the statuses 429, 500, 502, 503 and 504, and each ``TemporaryError`` that says
    /// that it may pass.
    public static let standard: RetryRule = .status(429, 500, 502, 503, 504) || .temporaryError

    /// An error that says of itself that it may pass: a ``TemporaryError`` of any layer.
    ///
    /// Of a ``TransportError``, these are a refused or lost connection, a host that is not found or not reached, and a
    /// timeout.
    public static let temporaryError = RetryRule([Part(includesTemporaryErrors: true)])

    /// A response with one of these statuses.
    ///
    /// - Parameter statuses: The statuses.
    /// - Returns: The rule.
    public static func status(_ statuses: HTTPResponse.Status...) -> RetryRule {
        RetryRule([Part(statuses: Set(statuses))])
    }

    /// A rule by which the first of two rules decides, and the second one about what the first says nothing of.
    public static func || (left: RetryRule, right: RetryRule) -> RetryRule {
        var parts = left.parts
        for part in right.parts {
            if let last = parts.last, last.closure == nil, part.closure == nil {
                parts[parts.count - 1] = Part(
                    statuses: last.statuses.union(part.statuses),
                    includesTemporaryErrors: last.includesTemporaryErrors || part.includesTemporaryErrors)
            } else {
                parts.append(part)
            }
        }
        return RetryRule(parts)
    }

    /// The first opinion on an outcome.
    func verdict(on attempt: RetryAttempt) -> RetryVerdict {
        for part in parts {
            let verdict = part.verdict(on: attempt)
            if verdict.kind != .noOpinion { return verdict }
        }
        return .noOpinion
    }

    /// Whether the code of a response alone shows that it does not meet the rule.
    func isUnmet(byCode code: Int) -> Bool {
        code < lowestCode || !hasClosures && !statuses.contains(HTTPResponse.Status(code: code))
    }

    /// A closure, which is equal to itself alone.
    private final class Closure: Sendable, Hashable {
        let name: String
        let verdict: @Sendable (_ attempt: RetryAttempt) -> RetryVerdict

        init(_ name: String, _ verdict: @escaping @Sendable (_ attempt: RetryAttempt) -> RetryVerdict) {
            self.name = name
            self.verdict = verdict
        }

        static func == (left: Closure, right: Closure) -> Bool { left === right }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(self))
        }
    }
}

/// The opinion of a ``RetryRule`` on the outcome of an attempt.
public struct RetryVerdict: Sendable {
    enum Kind: Sendable { case noOpinion, giveUp, retry }

    let kind: Kind
    private(set) var wait: Duration?
    private(set) var change: OptionsChange?

    /// The rule says nothing; the next one decides, and if no rule speaks, the caller gets the outcome.
    public static let noOpinion = RetryVerdict(kind: .noOpinion)
    /// The caller gets the outcome, whatever the rules behind this one say.
    public static let giveUp = RetryVerdict(kind: .giveUp)

    /// The request is sent again, as far as the policy, the budget and the deadline allow it.
    ///
    /// - Parameters:
    ///   - wait: The wait, which nothing random is added to; nil for the wait of the policy. A longer `Retry-After` is waited
    ///     for nevertheless, and a wait longer than ``RetryPolicy/maximumRetryAfter`` ends the retries.
    ///   - change: Changes the options of the next attempt and of all after it; nil to keep them.
    /// - Returns: The verdict.
    public static func retry(
        after wait: Duration? = nil, changing change: (@Sendable (_ options: inout RequestOptions) -> Void)? = nil
    ) -> RetryVerdict {
        RetryVerdict(kind: .retry, wait: wait, change: change.map(OptionsChange.init))
    }
}

extension RetryRule: CustomStringConvertible {
    /// The parts of the rule, such as `.status(403) || .temporaryError`.
    public var description: String {
        parts.map { part in
            if let closure = part.closure { return closure.name }
            let codes = part.statuses.map(\.code).sorted().map(String.init).joined(separator: ", ")
            let words =
                (codes.isEmpty ? [] : [".status(\(codes))"]) + (part.includesTemporaryErrors ? [".temporaryError"] : [])
            return words.joined(separator: " || ")
        }.joined(separator: " || ")
    }
}

extension RetryRule: Codable {
    private enum CodingKeys: String, CodingKey {
        case statuses, temporaryErrors
    }

    /// Reads the numbers of `statuses`, and whether `temporaryErrors` meet the rule; without a key, nothing of its kind does.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let codes = try values.decodeIfPresent(Set<Int>.self, forKey: .statuses) ?? []
        guard codes.allSatisfy((100..<1000).contains) else {
            throw DecodingError.dataCorruptedError(
                forKey: .statuses, in: values, debugDescription: "A status has three digits.")
        }
        let temporaryErrors = try values.decodeIfPresent(Bool.self, forKey: .temporaryErrors) ?? false
        self.init([
            Part(statuses: Set(codes.map { HTTPResponse.Status(code: $0) }), includesTemporaryErrors: temporaryErrors)
        ])
    }

    /// Writes the rule; throws `EncodingError` for a rule with a closure.
    public func encode(to encoder: any Encoder) throws {
        guard !hasClosures else {
            throw EncodingError.invalidValue(
                description, .init(codingPath: encoder.codingPath, debugDescription: "The rule holds a closure."))
        }
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(statuses.map(\.code).sorted(), forKey: .statuses)
        try values.encode(parts.contains(where: \.includesTemporaryErrors), forKey: .temporaryErrors)
    }
}

/// The outcome of one attempt, about which a ``RetryRule`` decides.
public struct RetryAttempt: Sendable {
    /// The head of the request.
    public let request: HTTPRequest
    /// The options of the request.
    public let options: RequestOptions
    /// The head of the response; nil after an error.
    public let response: HTTPResponse?
    /// The error; nil after a response.
    public let error: (any Error)?
    /// The number of retries of the layer so far.
    public let retries: Int

    init(request: HTTPRequest, options: RequestOptions, result: Result<HTTPResponse, any Error>, retries: Int) {
        self.request = request
        self.options = options
        self.retries = retries
        switch result {
        case .success(let head): (response, error) = (head, nil)
        case .failure(let failure): (response, error) = (nil, failure)
        }
    }

    /// Whether the server may still be working on the request, since only the client has ended the exchange.
    var mayBeWorking: Bool {
        guard let error = error as? TransportError, error.stage != .connecting else { return false }
        return error.isTimeout
    }

    /// The outcome in a few words, as in "503 with Retry-After 2".
    var words: String {
        guard let response else { return error.map(Redaction.name(of:)) ?? "" }
        guard let asked = response.headerFields.firstValue(of: .retryAfter) else {
            let limit = RateLimitFields.usedLimit(in: response.headerFields, at: .distantPast)
            return "\(response.status.code)\(limit == nil ? "" : " with a used rate limit")"
        }
        // Any other text than a number may be as long as the server likes.
        let isShort = asked.utf8.count < 10 && asked.allUTF8 { (0x30...0x39).contains($0) }
        return "\(response.status.code) with Retry-After\(isShort ? " \(asked)" : "")"
    }
}

/// The time for which a server asks to wait, in `Retry-After` or in the fields of a rate limit.
package enum AskedWait {
    /// Returns the longest `Retry-After`; without one, the time until a used limit is renewed; nil if the server asks for no wait.
    package static func duration(in fields: HTTPFields, at date: @autoclosure () -> Date) -> Duration? {
        if fields.contains(.retryAfter), let delay = RetryAfter.longestDelay(in: fields, at: date()) { return delay }
        return RateLimitFields.usedLimit(in: fields, at: date())?.renewal
    }

    /// The waits that comply with a time that was asked for.
    ///
    /// Clients that were given one date must not all come back in one second. So up to half of the time is added, at least
    /// 1 second and at most 20. From 40 seconds on, each second gets 5 % of the clients on average. By chance one of them
    /// gets more, such as 6.5 % of 1,000 clients: they do not know of each other, and no choice within 20 seconds is better
    /// than an even one.
    package static func spread(_ asked: Duration) -> ClosedRange<Duration> {
        let asked = asked.bounded
        return asked...(asked + min(max(asked / 2, .seconds(1)), .seconds(20)))
    }
}

extension ClosedRange<Duration> {
    /// A uniform random duration.
    package func random(using generator: any RandomGenerator) -> Duration {
        lowerBound + (upperBound - lowerBound) * generator.uniform()
    }
}
