import Foundation
public import HTTPTypes

extension Connection {
    /// Answers from stored responses like a private HTTP cache.
    ///
    /// A `GET` or `HEAD` is answered from `store` while a stored response is fresh, and so is a `QUERY` with the same
    /// content. The server states the time; if it does not, a response is fresh for a tenth of the time since
    /// `Last-Modified`. For a stale response, the request is sent with `If-None-Match` and `If-Modified-Since`, and
    /// after a `304` the answer has the stored content and refreshed fields. Each variant that `Vary` distinguishes is
    /// stored. A range is served from a stored response that has it, and parts with the same strong entity tag are
    /// combined. The response to a `POST` answers a later `GET` if it has a lifetime and names its own URI in
    /// `Content-Location` (RFC 9110, section 9.3.3).
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .retrying()
    ///     .caching(in: MemoryResponseStore())
    ///     .followingRedirects()
    /// ```
    ///
    /// **An unsafe method**, such as `POST`, removes the stored responses of its URI, and of the URIs in `Location` and
    /// `Content-Location` at the same origin, unless the status is 4xx or 5xx. If no response comes, the server may have
    /// carried out the request, so the responses of its URI are removed. A removal covers the responses to earlier requests
    /// that are still being received: these are not stored.
    ///
    /// **Stale responses** are used during a validation in the background (`stale-while-revalidate`); when the server
    /// answers with 500, 502, 503 or 504 (`stale-if-error`); when the server cannot be reached; or, with
    /// ``CachingPolicy/staleIfSlow``, when it is slow. A response with `must-revalidate` or `no-cache` is never used stale.
    ///
    /// **A body** is stored while the caller reads it, and kept only once its end was reached. Trailer fields are not
    /// stored. `Set-Cookie` is stored, as RFC 9111 requires: a layer that keeps cookies ignores it in responses from the
    /// source ``ResponseMetadata/Source/cache``.
    ///
    /// **Equal requests** that miss at the same time are sent once, and share the response if the cache could use it
    /// again without asking the server: it may be stored, is fresh and has no `Set-Cookie`. Otherwise the requests of the
    /// other callers are then sent together, and later ones do not wait for each other. A request that demands a
    /// validation, as with ``CacheUse/reload``, is always sent itself.
    ///
    /// **A request** controls the cache with `Cache-Control`, which is sent too, or with ``RequestOptions/cacheUse``,
    /// which is not sent. With `only-if-cached`, a miss is answered with `504 Gateway Timeout`. A request with its own
    /// `If-None-Match` or `If-Modified-Since` may be answered from the store with `304`. A request with `no-store`,
    /// `If-Match`, `If-Unmodified-Since`, or several ranges passes unchanged.
    ///
    /// **A response** has its source in ``ResponseMetadata/source``. ``CacheStatus/detail`` in
    /// ``ResponseMetadata/cacheStatus`` says why a stored response was not used and why the response is not stored.
    ///
    /// **Principals**: responses are separated by ``RequestOptions/principal`` and by the credentials in the request:
    /// see ``ResponseKey``. If a layer further in declares that it adds credentials and the request has no principal,
    /// the store is not used. If a layer adds them without declaring it, or changes the request in another way that may tell
    /// the server who the user is, responses without a principal are not stored either: see ``SentRequests``.
    /// ``ResponseStore/removeResponses(of:)`` removes the responses of one principal.
    ///
    /// **Cookies** do not separate responses by themselves. A `Vary: Cookie` decides, and a `public` response is used for
    /// any cookie. Any other response for one cookie is used for another only once the server has confirmed it by its strong
    /// entity tag; a fresh response to a request without a cookie is used for a request with one.
    ///
    /// Apply it inside of ``followingRedirects(upTo:policy:remembering:clock:)``, so that permanent redirections are
    /// stored, and outside of ``retrying(_:clock:generator:)`` and of layers that add credentials. See <doc:keeping-responses>, RFC
    /// 9111, RFC 5861 and RFC 8246.
    ///
    /// - Parameters:
    ///   - store: The store of the responses.
    ///   - policy: The choices that the rules leave.
    ///   - clock: The clock that determines the ages of responses.
    ///   - spawner: Starts work in the background.
    /// - Returns: A connection that sends only requests without a fresh stored response.
    public func caching(
        in store: some ResponseStore,
        policy: CachingPolicy = .standard,
        clock: any DatedClock = SystemClock(),
        spawner: any TaskSpawner = SystemSpawner()
    ) -> some Connection {
        CachingConnection(base: self, cache: ResponseCache(store, policy: policy, clock: clock, spawner: spawner))
    }
}

extension Connection {
    /// Validates stored responses with the server instead of transferring them again.
    ///
    /// A `GET` or `HEAD` with a response in `store` is sent with `If-None-Match` and `If-Modified-Since`, which carry
    /// the stored `ETag` and `Last-Modified` as they came, or without both with the stored `Date`, by which the server
    /// sees no change within its second. A `304 Not Modified` is answered with the stored response, its fields refreshed by
    /// the fields of the `304`, or with the `304` itself: see ``NotModifiedAnswer``. A stored `Set-Cookie` is not given again.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .revalidating(in: MemoryResponseStore())
    /// ```
    ///
    /// A `200` with one of these fields is stored once its body was read to its end, unless it or the request has
    /// `Cache-Control: no-store`, or it has `Vary: *`. Responses are kept by method, URI, the fields that `Vary` names,
    /// ``RequestOptions/principal``, and the credentials that the request carries: see ``ResponseKey``. If a layer further in
    /// declares that it adds credentials and the request has no principal, the store is not used. If a layer adds them
    /// without declaring it, the response is not stored: see ``SentRequests``.
    ///
    /// A request with its own precondition, or with `Range`, passes unchanged, and the caller gets its `304`.
    ///
    /// It is ``caching(in:policy:clock:spawner:)`` with the rule that the server is asked each time, so unsafe methods,
    /// cookies and ``ResponseMetadata/cacheStatus`` are as there. No request is shared with another.
    ///
    /// Apply it inside of ``followingRedirects(upTo:policy:remembering:clock:)`` and outside of ``retrying(_:clock:generator:)``.
    /// See RFC 9110, section 13.1, and RFC 9111, sections 3.2, 4.1 and 4.3.
    ///
    /// - Parameters:
    ///   - store: The store of the responses.
    ///   - answer: The answer to the caller after a `304`.
    ///   - clock: The clock that dates the stored responses.
    /// - Returns: A connection that transfers stored content again only when it has changed.
    public func revalidating(
        in store: some ResponseStore,
        answering answer: NotModifiedAnswer = .storedResponse,
        clock: any DatedClock = SystemClock()
    ) -> some Connection {
        var policy = CachingPolicy()
        policy.mode = .validating
        policy.notModifiedAnswer = answer
        return CachingConnection(
            base: self, cache: ResponseCache(store, policy: policy, clock: clock, spawner: SystemSpawner()))
    }
}

/// The answer to a caller of ``Connection/revalidating(in:answering:clock:)`` when the server answers `304 Not
/// Modified`.
public enum NotModifiedAnswer: Sendable, Hashable {
    /// The stored response with refreshed fields; its source is ``ResponseMetadata/Source/revalidated``.
    case storedResponse
    /// The `304` itself, with the stored response in ``ResponseMetadata/storedResponse``.
    case notModified
}

extension ResponseMetadata {
    /// The stored response that a `304` has confirmed, with refreshed fields.
    public var storedResponse: StoredResponse? {
        get { self[StoredResponseKey.self] }
        set { self[StoredResponseKey.self] = newValue }
    }
}

private enum StoredResponseKey: ResponseMetadataKey {
    static let defaultValue: StoredResponse? = nil
}

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
    /// code ``TransportError/Code/unreachable``, and false for a failure of TLS and for any other error of a layer. The
    /// closure is also asked for `stale-if-error` (RFC 5861, section 4), and never about a cancellation.
    public var meansServerNotReached: @Sendable (_ error: any Error) -> Bool = { error in
        (error as? any ReachabilityError)?.meansServerNotReached ?? false
    }
    {
        didSet { ownClosures.insert("meansServerNotReached") }
    }
    /// The time to wait for the server before any stale response that answers the request is used and updated in the
    /// background; nil to wait without a limit.
    ///
    /// It never applies to a response with `must-revalidate` or `no-cache`, or when `base` throws.
    public var staleIfSlow: Duration?
    /// Which fields do not distinguish requests that miss at the same time and may share one response.
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

/// How a request may be answered by ``Connection/caching(in:policy:clock:spawner:)``, in addition to its fields.
///
/// It is never sent: use it when the server should not get this information.
public enum CacheUse: Sendable, Hashable {
    /// A stored response while it is fresh.
    case standard
    /// A stored response only once the server has confirmed it; the request shares no response with another caller.
    case reload
    /// A stored response of any age; the server if no stored response may be used stale.
    case preferringStored
    /// A stored response of any age; if no stored response may be used stale, `504 Gateway Timeout` without sending the
    /// request.
    case onlyStored
    /// The server's response, which is not stored.
    case none
}

extension RequestOptions {
    /// How the request may be answered by a cache.
    public var cacheUse: CacheUse {
        get { self[CacheUseKey.self] }
        set { self[CacheUseKey.self] = newValue }
    }

    /// The time for which a cache uses a stale response when the server cannot be reached (RFC 9111, section 4.2.4); nil for
    /// ``CachingPolicy/staleIfUnreachable``, zero for none.
    public var staleIfUnreachable: Duration? {
        get { self[StaleIfUnreachableKey.self] }
        set { self[StaleIfUnreachableKey.self] = newValue }
    }
}

private enum StaleIfUnreachableKey: RequestOptionKey {
    static let travels = OptionTravel.all
    static let defaultValue: Duration? = nil
}

private enum CacheUseKey: RequestOptionKey {
    static let travels = OptionTravel.all
    static let defaultValue = CacheUse.standard
}

struct CachingConnection<Base: Connection, Store: ResponseStore>: ComposedConnection {
    let base: Base
    let cache: ResponseCache<Store>
    // For the closures and tasks of a cache: each of them would copy all layers.
    private let further: any Connection
    private let policy: CachingPolicy
    private let baseAddsCredentials: Bool

    init(base: Base, cache: ResponseCache<Store>) {
        (self.base, self.cache, further, policy) = (base, cache, base, cache.policy)
        baseAddsCredentials = base.addsCredentials
    }

    // A caller may wait for the requests of others, one after another, if these are cancelled.
    var layer: Layer {
        if policy.mode == .validating {
            return Layer(
                name: "revalidating", role: .caching, settings: [.init("answering", policy.notModifiedAnswer)],
                facts: policy.notModifiedAnswer == .notModified ? facts.subtracting([.changesResponse]) : facts,
                sending: .init(sends), time: .init(waiting: .unbounded, reading: .atMost(Body.discardTime)),
                memory: .init(bytes: bytesHeld, state: sharedState))
        }
        return Layer(
            name: "caching", role: .caching,
            settings: [
                .init("heuristicLimit", policy.heuristicFraction > 0 ? policy.heuristicLimit : .zero),
                .init("staleIfUnreachable", policy.staleIfUnreachable), .init("staleIfError", policy.staleIfError),
                .init("staleIfSlow", policy.staleIfSlow.map(String.init(describing:)) ?? "never"),
            ], facts: facts, sending: .init(sends),
            time: .init(waiting: .unbounded, reading: .atMost(Body.discardTime)),
            memory: .init(bytes: bytesHeld, state: sharedState))
    }

    /// The answer that it invents is the 504 to a request with `only-if-cached`.
    private var facts: Set<Layer.Fact> {
        let facts: Set<Layer.Fact> = [
            .inventsAnswers, .changesSignedParts, .changesResponse, .readsStatus, .sharesResponses,
        ]
        return facts.union(Layer.facts(of: cache.clock))
    }

    /// A request, and one without conditions if the answer to it cannot be used; with ``CachingPolicy/staleIfSlow``, both
    /// once more for a caller whose stale response was removed while the server was slow.
    private var sends: ClosedRange<Int> { 0...(policy.staleIfSlow == nil ? 2 : 4) }

    /// A body that is about to be stored, and what waits of it for a slow reader.
    private var bytesHeld: Layer.Bound<Int> {
        let (sum, overflows) = cache.store.bodyLimit.addingReportingOverflow(SharedBody.backlogLimit)
        return overflows ? .unbounded : .atMost(sum)
    }

    private var sharedState: Set<Layer.StateIdentity> {
        // Two stores over one directory have the same responses.
        if let files = cache.store as? FileResponseStore { return [.init(named: files.path)] }
        return Layer.StateIdentity(of: cache.store).map { [$0] } ?? []
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        try await cache.respond(to: request, addsCredentials: baseAddsCredentials, over: further)
    }
}
