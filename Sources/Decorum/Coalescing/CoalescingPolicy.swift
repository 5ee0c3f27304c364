import Foundation
public import HTTPTypes

/// The rules of ``Connection/coalescing(_:clock:spawner:)``: which requests count as the same, and how long it waits
/// for slow readers.
public struct CoalescingPolicy: Sendable, Hashable {
    /// The fields that do not distinguish requests; fields with credentials always do.
    ///
    /// The request that is sent has the fields of the caller who caused it.
    public var ignoredFields: Set<HTTPField.Name>

    /// The number of bytes of a shared body that wait in memory for each reader who is slower than the fastest.
    ///
    /// One chunk of any size may always wait. A negative number counts as 0.
    public var backlogLimit: Int

    /// How long a reader who has reached the limit may hold up the others, over the whole body.
    ///
    /// A negative duration counts as zero.
    public var patience: Duration

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - ignoredFields: The fields that do not distinguish requests.
    ///   - backlogLimit: The number of bytes that wait for each slow reader.
    ///   - patience: How long a reader who has reached the limit may hold up the others.
    public init(
        ignoring ignoredFields: Set<HTTPField.Name> = CoalescingPolicy.callFields,
        backlogLimit: Int = 5 << 20,
        patience: Duration = .seconds(1)
    ) {
        self.ignoredFields = ignoredFields
        self.backlogLimit = backlogLimit
        self.patience = patience
    }

    /// Ignores the fields that identify a call, and waits one second in total for a reader who is 5 MiB behind.
    public static let standard = CoalescingPolicy()

    /// The fields that identify a call, not a resource, such as `traceparent` and `X-Request-ID`.
    public static let callFields = Set(
        [
            "traceparent", "tracestate", "baggage", "b3", "X-B3-TraceId", "X-B3-SpanId", "X-B3-ParentSpanId",
            "X-B3-Sampled", "X-Request-ID", "X-Correlation-ID", "Idempotency-Key",
        ].compactMap { HTTPField.Name($0) })
}

/// A reader of a shared body is so far behind the others that its unread bytes are no longer kept.
public struct CoalescingBacklogError: DescribableError, Hashable {
    /// The number of bytes that are kept for each reader.
    public let limit: Int

    /// Creates an error.
    ///
    /// - Parameter limit: The number of bytes that are kept for each reader.
    public init(limit: Int) {
        self.limit = limit
    }

    /// A sentence that says what happened and how to avoid it.
    public var description: String {
        """
        More than \(limit) bytes waited for a slow reader of a body that it shares with others; read it faster, raise \
        the policy's backlogLimit, or set the request's option allowsCoalescing to false.
        """
    }
}
