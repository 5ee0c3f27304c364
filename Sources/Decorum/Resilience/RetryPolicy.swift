public import HTTPTypes

/// What ``Connection/retrying(_:clock:generator:)`` sends again, how often, and how long it waits before.
///
/// ```swift
/// let patient = RetryPolicy(retries: 5, maximumRetryAfter: .seconds(300))
/// ```
public struct RetryPolicy: Sendable, Hashable {
    /// The largest number of times that a request is sent again; a negative number counts as 0.
    public var retries: Int
    /// The methods that may be sent twice, because doing so has the effect of once (RFC 9110, section 9.2.2).
    public var methods: Set<HTTPRequest.Method>
    /// The statuses to try again after.
    public var statuses: Set<HTTPResponse.Status>
    /// The transport failures to try again after.
    ///
    /// One rule holds for all transports. A failure at ``TransportError/Stage/connecting`` is tried again for any method,
    /// since nothing was sent; a later one only for a method that may be sent twice, or with an `Idempotency-Key`. The
    /// standard codes are those that may pass by themselves. The others would be met again: a proxy that refuses, a
    /// certificate that is not trusted, an answer that is not HTTP, a transport that was closed.
    public var failures: Set<TransportError.Code>
    /// The longest time to wait before the first retry, when the server names none.
    public var baseDelay: Duration
    /// What the longest time is multiplied by for each further retry; a number below 1 counts as 1.
    public var factor: Double
    /// What the longest time never exceeds, however many retries there were.
    public var maximumDelay: Duration
    /// The longest `Retry-After` to wait for.
    ///
    /// A response that asks for more is returned; the request is never sent earlier than it asks.
    public var maximumRetryAfter: Duration

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retries: The largest number of times that a request is sent again.
    ///   - methods: The methods that may be sent twice.
    ///   - statuses: The statuses to try again after.
    ///   - failures: The transport failures to try again after.
    ///   - baseDelay: The longest time to wait before the first retry.
    ///   - factor: What the longest time is multiplied by for each further retry.
    ///   - maximumDelay: What the longest time never exceeds.
    ///   - maximumRetryAfter: The longest `Retry-After` to wait for.
    public init(
        retries: Int = 3,
        methods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace, .put, .delete, .query],
        statuses: Set<HTTPResponse.Status> = [429, 500, 502, 503, 504],
        failures: Set<TransportError.Code> = [
            .connectionRefused, .hostNotFound, .unreachable, .timedOut, .connectionLost,
        ],
        baseDelay: Duration = .milliseconds(500),
        factor: Double = 2,
        maximumDelay: Duration = .seconds(20),
        maximumRetryAfter: Duration = .seconds(60)
    ) {
        self.retries = retries
        self.methods = methods
        self.statuses = statuses
        self.failures = failures
        self.baseDelay = baseDelay
        self.factor = factor
        self.maximumDelay = maximumDelay
        self.maximumRetryAfter = maximumRetryAfter
    }

    /// Three retries of idempotent requests, after a random part of 0.5, 1 and 2 seconds.
    public static let standard = RetryPolicy()

    /// No retry.
    public static let never = RetryPolicy(retries: 0)
}

extension RequestOptions {
    /// What is retried for this request, in place of the policies of the stack; nil leaves it to them.
    public var retryPolicy: RetryPolicy? {
        get { self[RetryPolicyKey.self] }
        set { self[RetryPolicyKey.self] = newValue }
    }
}

private enum RetryPolicyKey: RequestOptionKey {
    static let defaultValue: RetryPolicy? = nil
}
