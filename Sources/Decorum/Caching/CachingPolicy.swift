public import HTTPTypes

/// What ``Connection/caching(in:policy:clock:spawner:)`` does where RFC 9111 leaves a choice.
public struct CachingPolicy: Sendable {
    /// The share of the time since `Last-Modified` for which a response is fresh whose server does not say (RFC 9111,
    /// section 4.2.2); 0 turns guessing off.
    public var heuristicFraction = 0.1
    /// The longest time for which a guess lets a response be fresh.
    public var heuristicLimit: Duration = .seconds(7 * 86_400)
    /// For how long a stale response is used where the server cannot be reached at all (RFC 9111, section 4.2.4).
    ///
    /// It goes for what `base` throws, except cancellation, and never for a response with `must-revalidate` or
    /// `no-cache`. Zero turns it off.
    public var staleIfUnreachable: Duration = .seconds(86_400)
    /// How long to wait for the server before a stale response is used and brought up to date behind the caller's
    /// back; nil for as long as it takes.
    ///
    /// There is no limit to how stale the response may be, as long as the store has it. It never goes for a response with
    /// `must-revalidate` or `no-cache`, nor for one that `base` throws for.
    public var staleIfSlow: Duration?
    /// How requests that miss at the same time share one response.
    public var coalescing = CoalescingPolicy.standard
    /// Whether responses get a field `Cache-Status` (RFC 9211) beside ``ResponseMetadata/cacheStatus``.
    public var addsCacheStatusField = false
    /// The name of the cache in its status.
    public var name = "Decorum"
    /// Tells whether a response may be stored that the rules allow to be; it cannot allow more than they do.
    ///
    /// It is asked again when the server confirms a stored response, with the fields that this has then.
    public var mayStore: @Sendable (_ request: HTTPRequest, _ response: HTTPResponse) -> Bool = { _, _ in true }

    /// Creates the policy that suits most clients.
    public init() {}

    /// The policy that suits most clients.
    public static let standard = CachingPolicy()
}
