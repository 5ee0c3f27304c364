public import HTTPTypes

/// The rules of ``Connection/retrying(_:clock:generator:)``: which requests are sent again, how often, after which wait,
/// and from which budget.
///
/// By default a request is sent again up to three times, after a status of **429, 500, 502, 503 or 504**, and after a
/// failure that may pass: a refused or lost connection, a host that is not found or not reached, a timeout, and a
/// ``TemporaryError`` of any layer. ``when`` changes that:
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
    /// The budget of a new process allows a single retry to each origin, until answers have added more: ``RetryBudget``.
    /// Beside them, a request is sent again once, at once, where the server has certainly not processed it, or where the
    /// used connection on which it was sent was lost before the first byte of the response
    /// (``TransportError/isUnprocessed``, ``TransportError/hasLostReusedConnection``); 0 excludes that too. So
    /// `retries: 1` sends a request up to three times.
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

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retries: The largest number of times that a request is sent again.
    ///   - when: The responses and errors to try again after.
    ///   - methods: The methods that may be sent twice.
    ///   - baseDelay: The longest time to wait before the first retry.
    ///   - factor: The factor by which the longest time grows with each further retry.
    ///   - maximumDelay: The limit of the longest time.
    ///   - certainPart: The part of the longest time that is waited for in any case, from 0 to 1.
    ///   - maximumRetryAfter: The longest `Retry-After` to wait for.
    ///   - budget: The budget that allows or refuses each retry.
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

    /// The policy of a command that a person or a script runs once: two retries of the call's own, without a budget that
    /// calls share.
    ///
    /// The waits are 0.75 to 1.5 and 1.5 to 3 seconds, so that a command survives a restart of the server of 2 seconds.
    public static let tool = RetryPolicy(
        retries: 2, baseDelay: .milliseconds(1500), certainPart: 0.5, budget: .perCall(2))

    /// No retry.
    public static let never = RetryPolicy(retries: 0)

    /// Not a policy, so that the compiler warns of `.none`.
    ///
    /// As a value of ``RequestOptions/retryPolicy``, `.none` reads like ``never``, but means nil, and so the policy of the layer.
    @available(*, unavailable, message: "Write .never to send no request again, or nil for the policy of the layer.")
    public static let none = RetryPolicy(retries: 0)
}

extension RetryPolicy {
    /// How often a request is sent: once, once for each retry, and once for a loss that costs no retry.
    var sends: ClosedRange<Int> { retries > 0 ? 1...(min(allowedRetries, .max - 2) + 2) : 1...1 }

    /// The sum of the longest waits before all retries.
    var longestWait: Layer.Bound<Duration> { sum { $0 } }

    /// The time for reading the responses after which a request is sent again, as far as it is longer than the waits, which
    /// begin at the same time.
    var longestReading: Layer.Bound<Duration> { sum { max(.zero, Body.discardTime - $0) } }

    /// Adds up a time for each retry, which is given its longest wait.
    private func sum(_ time: (_ longestWait: Duration) -> Duration) -> Layer.Bound<Duration> {
        let asked = maximumRetryAfter < .zero ? .zero : AskedWait.spread(maximumRetryAfter).upperBound
        let longest = max(.zero, maximumDelay, asked)
        guard longest < .seconds(1 << 30), allowedRetries < 1 << 30 else { return .unbounded }
        let first = min(allowedRetries, 64)
        let growing = (0..<first).reduce(Duration.zero) { $0 + time(max(backoff(afterRetries: $1).upperBound, asked)) }
        return .atMost(growing + time(longest) * (allowedRetries - first))
    }

    private var allowedRetries: Int {
        guard case .perCall(let limit) = budget.kind else { return max(0, retries) }
        return max(0, min(retries, limit))
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

extension RetryPolicy: Codable {
    private enum CodingKeys: String, CodingKey {
        case retries, when, methods, baseDelay, factor, maximumDelay, certainPart, maximumRetryAfter, budget
    }

    /// Reads a policy; a key that is missing has the value of ``standard``.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func read<Value: Decodable>(_ key: CodingKeys, or value: Value) throws -> Value {
            try values.decodeIfPresent(Value.self, forKey: key) ?? value
        }
        func read(_ key: CodingKeys, or duration: Duration) throws -> Duration {
            let seconds = try read(key, or: duration / .seconds(1))
            guard abs(seconds) <= 0x1p61 else {
                throw DecodingError.dataCorruptedError(
                    forKey: key, in: values, debugDescription: "A duration is a number of seconds.")
            }
            return .seconds(seconds)
        }
        let standard = RetryPolicy.standard
        let names = try read(.methods, or: standard.methods.map(\.rawValue))
        let methods = names.compactMap { HTTPRequest.Method($0) }
        guard methods.count == names.count else {
            throw DecodingError.dataCorruptedError(
                forKey: .methods, in: values, debugDescription: "A method is a token.")
        }
        self.init(
            retries: try read(.retries, or: standard.retries), when: try read(.when, or: standard.when),
            methods: Set(methods),
            baseDelay: try read(.baseDelay, or: standard.baseDelay), factor: try read(.factor, or: standard.factor),
            maximumDelay: try read(.maximumDelay, or: standard.maximumDelay),
            certainPart: try read(.certainPart, or: standard.certainPart),
            maximumRetryAfter: try read(.maximumRetryAfter, or: standard.maximumRetryAfter),
            budget: try read(.budget, or: standard.budget))
    }

    /// Writes the policy; throws `EncodingError` for a rule with a closure, and for a budget of its own.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(retries, forKey: .retries)
        try values.encode(when, forKey: .when)
        try values.encode(methods.map(\.rawValue).sorted(), forKey: .methods)
        try values.encode(factor, forKey: .factor)
        try values.encode(certainPart, forKey: .certainPart)
        for (key, duration) in [
            (CodingKeys.baseDelay, baseDelay), (.maximumDelay, maximumDelay), (.maximumRetryAfter, maximumRetryAfter),
        ] {
            try values.encode(duration / .seconds(1), forKey: key)
        }
        try values.encode(budget, forKey: .budget)
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
