import Foundation
public import HTTPTypes

/// What ``Connection/coalescing(_:clock:spawner:)`` takes for the same, and how long it waits for slow readers.
public struct CoalescingPolicy: Sendable, Hashable {
    /// The fields that do not tell two requests apart; those that hold credentials always do.
    ///
    /// The one request that is sent has those of the caller who caused it.
    public var ignoredFields: Set<HTTPField.Name>

    /// How many bytes of a shared body wait in memory for each reader who is slower than the fastest.
    ///
    /// One chunk may wait whatever its size. A negative number counts as 0.
    public var backlogLimit: Int

    /// How long a reader who has reached the limit may hold up the others, over the whole body.
    ///
    /// A negative duration counts as zero.
    public var patience: Duration

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - ignoredFields: The fields that do not tell two requests apart.
    ///   - backlogLimit: How many bytes wait for each slow reader.
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

    /// Ignores the fields that name a call, and waits for a second in all for a reader who is 5 MiB behind.
    public static let standard = CoalescingPolicy()

    /// The fields that name a call rather than what is asked for, such as `traceparent` and `X-Request-ID`.
    public static let callFields = Set(
        [
            "traceparent", "tracestate", "baggage", "b3", "X-B3-TraceId", "X-B3-SpanId", "X-B3-ParentSpanId",
            "X-B3-Sampled", "X-Request-ID", "X-Correlation-ID", "Idempotency-Key",
        ].compactMap { HTTPField.Name($0) })
}

/// A reader of a shared body is so far behind the others that what it has not read is no longer kept.
public struct CoalescingBacklogError: DescribableError, Hashable {
    /// The number of bytes that are kept for each reader.
    public let limit: Int

    /// Creates an error.
    ///
    /// - Parameter limit: The number of bytes that are kept for each reader.
    public init(limit: Int) {
        self.limit = limit
    }

    /// What happened and how to avoid it.
    public var description: String {
        """
        More than \(limit) bytes waited for a slow reader of a body that it shares with others; read it faster, raise \
        the policy's backlogLimit, or set the request's option allowsCoalescing to false.
        """
    }
}
