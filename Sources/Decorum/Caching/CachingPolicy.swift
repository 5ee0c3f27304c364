public import HTTPTypes

/// The behaviour of ``Connection/caching(in:policy:clock:spawner:)`` where RFC 9111 leaves a choice.
public struct CachingPolicy: Sendable {
    /// The share of the time since `Last-Modified` for which a response without an explicit lifetime is fresh (RFC
    /// 9111, section 4.2.2); 0 turns this heuristic off.
    public var heuristicFraction = 0.1
    /// The longest time for which a response is fresh by this heuristic; zero turns it off.
    public var heuristicLimit: Duration = .seconds(86_400)
    /// The time for which a stale response is used when the server cannot be reached (RFC 9111, section 4.2.4).
    ///
    /// It applies to the errors that ``meansServerNotReached`` accepts, and never to a response with `must-revalidate`
    /// or `no-cache`. Zero turns it off.
    public var staleIfUnreachable: Duration = .seconds(86_400)
    /// The time for which a stale response is used in place of a 500, 502, 503 or 504 of a server that sends no
    /// `stale-if-error` (RFC 5861, section 4); zero, the default, leaves this to the server.
    ///
    /// It covers the errors of ``meansServerNotReached`` too, and never a response with `must-revalidate` or `no-cache`.
    public var staleIfError: Duration = .zero
    /// Returns whether an error of `base` means that the server was not reached, so that a stale response may be used.
    ///
    /// By default, the result is true for a ``ReachabilityError`` that says so, such as a ``TransportError`` with the
    /// code ``TransportError/Code/unreachable``. It is false for a failure of TLS and for any other error of a layer.
    /// The closure is also asked for `stale-if-error` of the server (RFC 5861, section 4), which covers the statuses
    /// 500, 502, 503 and 504 too. It is never asked about a cancellation.
    public var meansServerNotReached: @Sendable (_ error: any Error) -> Bool = { error in
        (error as? any ReachabilityError)?.meansServerNotReached ?? false
    }
    {
        didSet { ownClosures.insert("meansServerNotReached") }
    }
    /// The time to wait for the server before a stale response is used and updated in the background; nil to wait
    /// without a limit.
    ///
    /// Any stored response that answers the request may be used, however stale it is. This never applies to a response
    /// with `must-revalidate` or `no-cache`, or when `base` throws.
    public var staleIfSlow: Duration?
    /// The stored responses that a response to an unsafe method invalidates (RFC 9111, section 4.4).
    public var invalidation = Invalidation.uri
    /// How requests that miss at the same time share one response: which fields do not distinguish them, and how long to
    /// wait for slow readers.
    ///
    /// A cache shares only responses that it could use again without asking the server, so fewer than
    /// ``Connection/coalescing(_:clock:spawner:)`` shares.
    public var coalescing = CoalescingPolicy.standard
    /// Whether responses get a field `Cache-Status` (RFC 9211) in addition to ``ResponseMetadata/cacheStatus``.
    public var addsCacheStatusField = false
    /// The name of the cache in its status.
    public var name = "Decorum"
    /// Returns whether a response that the rules allow to be stored is stored; it cannot allow more than the rules.
    ///
    /// It is called again when the server confirms a stored response, with the updated fields.
    public var mayStore: @Sendable (_ request: HTTPRequest, _ response: HTTPResponse) -> Bool = { _, _ in true } {
        didSet { ownClosures.insert("mayStore") }
    }
    /// The names of the closures that the app has set, with which the policy cannot be encoded.
    private(set) var ownClosures: Set<String> = []

    /// The way in which stored responses are used.
    var mode = CacheMode.answering
    /// The answer to a caller when the server answers `304`, in the mode that asks the server each time.
    var notModifiedAnswer = NotModifiedAnswer.storedResponse

    /// Creates the policy that suits most clients.
    public init() {}

    /// The policy that suits most clients.
    public static let standard = CachingPolicy()
}

extension CachingPolicy {
    /// The stored responses that are outdated after a request with an unsafe method, such as a `POST`.
    ///
    /// A response of the class 4xx or 5xx invalidates nothing. When no response comes, the server may have carried out
    /// the request.
    public enum Invalidation: Sendable, Hashable {
        /// Those of the URI of the request, and of the URIs of the same origin in `Location` and `Content-Location`;
        /// without a response, those of the URI of the request.
        case uri
        /// Those too, and all others of the origin that were requested before, for servers on which one request changes
        /// several resources.
        ///
        /// The others stay stored, and are validated before they are used again. The layer keeps the time of the
        /// change in memory, so another layer on the same store, or the next run of the app, does not know it.
        case origin
    }
}
