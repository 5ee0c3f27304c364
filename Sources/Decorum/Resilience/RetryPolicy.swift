public import HTTPTypes

/// The rules of ``Connection/retrying(_:clock:generator:)``: which requests are sent again, how often, and after which
/// wait.
///
/// ```swift
/// let patient = RetryPolicy(retries: 5, maximumRetryAfter: .seconds(300))
/// ```
public struct RetryPolicy: Sendable, Hashable {
    /// The largest number of times that a request is sent again; a negative number counts as 0.
    public var retries: Int
    /// The methods that may be sent twice, because they are idempotent (RFC 9110, section 9.2.2).
    public var methods: Set<HTTPRequest.Method>
    /// The statuses to try again after.
    public var statuses: Set<HTTPResponse.Status>
    /// The transport failures to try again after.
    ///
    /// One rule applies to all transports. After a failure at ``TransportError/Stage/connecting``, a request with any
    /// method is sent again, since nothing was sent. After a later failure, only a method that may be sent twice, or a
    /// request with an `Idempotency-Key`, is sent again. The standard codes are temporary failures. The other failures
    /// would occur again: a proxy that refuses, a certificate that is not trusted, an answer that is not HTTP, a
    /// transport that was closed.
    public var failures: Set<TransportError.Code>
    /// The longest time to wait before the first retry, when the server names no time.
    public var baseDelay: Duration
    /// The factor by which the longest time grows with each further retry; a number below 1 counts as 1.
    public var factor: Double
    /// The limit of the longest time, after any number of retries.
    public var maximumDelay: Duration
    /// The longest `Retry-After` to wait for.
    ///
    /// A response that asks for a longer wait is returned; the request is never sent earlier than the server asks.
    public var maximumRetryAfter: Duration

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - retries: The largest number of times that a request is sent again.
    ///   - methods: The methods that may be sent twice.
    ///   - statuses: The statuses to try again after.
    ///   - failures: The transport failures to try again after.
    ///   - baseDelay: The longest time to wait before the first retry.
    ///   - factor: The factor by which the longest time grows with each further retry.
    ///   - maximumDelay: The limit of the longest time.
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
    /// The retry policy for this request, instead of the policies of the stack; nil to use the policies of the stack.
    public var retryPolicy: RetryPolicy? {
        get { self[RetryPolicyKey.self] }
        set { self[RetryPolicyKey.self] = newValue }
    }
}

private enum RetryPolicyKey: RequestOptionKey {
    static let defaultValue: RetryPolicy? = nil
}
