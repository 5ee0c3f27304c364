public import HTTPTypes

/// The behaviour of ``Connection/caching(in:policy:clock:spawner:)`` where RFC 9111 leaves a choice.
public struct CachingPolicy: Sendable {
    /// The share of the time since `Last-Modified` for which a response without an explicit lifetime is fresh (RFC
    /// 9111, section 4.2.2); 0 turns this heuristic off.
    public var heuristicFraction = 0.1
    /// The longest time for which a response is fresh by this heuristic.
    public var heuristicLimit: Duration = .seconds(7 * 86_400)
    /// The time for which a stale response is used when the server cannot be reached (RFC 9111, section 4.2.4).
    ///
    /// It applies to errors of `base`, except cancellation, and never to a response with `must-revalidate` or
    /// `no-cache`. Zero turns it off.
    public var staleIfUnreachable: Duration = .seconds(86_400)
    /// The time to wait for the server before a stale response is used and updated in the background; nil to wait
    /// without a limit.
    ///
    /// Any stored response may be used, however stale it is. This never applies to a response with `must-revalidate` or
    /// `no-cache`, or when `base` throws.
    public var staleIfSlow: Duration?
    /// How requests that miss at the same time share one response.
    public var coalescing = CoalescingPolicy.standard
    /// Whether responses get a field `Cache-Status` (RFC 9211) in addition to ``ResponseMetadata/cacheStatus``.
    public var addsCacheStatusField = false
    /// The name of the cache in its status.
    public var name = "Decorum"
    /// Returns whether a response that the rules allow to be stored is stored; it cannot allow more than the rules.
    ///
    /// It is called again when the server confirms a stored response, with the updated fields.
    public var mayStore: @Sendable (_ request: HTTPRequest, _ response: HTTPResponse) -> Bool = { _, _ in true }

    /// Creates the policy that suits most clients.
    public init() {}

    /// The policy that suits most clients.
    public static let standard = CachingPolicy()
}
