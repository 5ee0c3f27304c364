import Foundation
import HTTPTypes

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
    /// **An unsafe method**, such as `POST`: when the request gets a response of the class 2xx or 3xx, the stored
    /// responses of its URI are removed, and those of the URIs in `Location` and `Content-Location` at the same origin.
    /// A response of the class 4xx or 5xx removes nothing. If no response comes, the server may have carried out the
    /// request, so the responses of its URI are removed. A removal covers the responses to earlier requests that are
    /// still being received: these are not stored. See ``CachingPolicy/invalidation``.
    ///
    /// **Stale responses** are used during a validation in the background (`stale-while-revalidate`); when the server
    /// answers with 500, 502, 503 or 504 (`stale-if-error`); when an error means that the server was not reached, which
    /// a failure of TLS does not; or, with ``CachingPolicy/staleIfSlow``, when the server is slow. A response with
    /// `must-revalidate` or `no-cache` is never used stale. Background work is started by `spawner`.
    ///
    /// **A body** is stored while the caller reads it, and kept only once its end was reached; a body above the limit
    /// of the store is not stored. Trailer fields are not stored. `Set-Cookie` is stored, as RFC 9111 requires: a layer
    /// that keeps cookies ignores it in responses from the source ``ResponseMetadata/Source/cache``.
    ///
    /// **Equal requests** that miss at the same time are sent once, and share the response if the cache could use it
    /// again without asking the server: it may be stored, is fresh and has no `Set-Cookie`. Otherwise it is for the
    /// caller who sent the request. The requests of the others are then sent together, and later ones do not wait for
    /// each other. A request that demands a validation, as with ``CacheUse/reload``, is always sent itself. No caller
    /// waits for a validation in the background.
    ///
    /// **A request** controls the cache with `Cache-Control`, which is sent too, or with ``RequestOptions/cacheUse``,
    /// which is not sent. With `only-if-cached`, a miss is answered with `504 Gateway Timeout`. A request with its own
    /// `If-None-Match` or `If-Modified-Since` may be answered from the store with `304`. A request with `no-store`,
    /// `If-Match`, `If-Unmodified-Since`, or several ranges passes unchanged.
    ///
    /// **A response** has its source in ``ResponseMetadata/source``. In ``ResponseMetadata/cacheStatus``,
    /// ``CacheStatus/detail`` says why a stored response was not used and why the response is not stored, with the
    /// section of the RFC; an entry of ``logging(to:detail:redacting:clock:)`` has it too.
    ///
    /// **Principals**: responses are separated by ``RequestOptions/principal`` and by the credentials in the request:
    /// see ``ResponseKey``. If a layer further in declares that it adds credentials and the request has no principal,
    /// the store is not used. If a layer adds credentials without declaring it, or changes the request in another way
    /// that may tell the server who the user is, responses without a principal are not stored either: transports report
    /// the requests that they send, see ``SentRequests``. ``ResponseStore/removeResponses(of:)`` removes the responses
    /// of one principal.
    ///
    /// **Cookies** do not separate responses by themselves. `Vary: Cookie` decides where it is present, and a `public`
    /// response is used for any cookie. Any other response for one cookie is used for another only once the server has
    /// confirmed it by its strong entity tag; a fresh response to a request without a cookie is used for a request with
    /// one.
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

struct CachingConnection<Base: Connection, Store: ResponseStore>: ComposedConnection {
    let base: Base
    let cache: ResponseCache<Store>
    private let further: ForwardingBase<Base>
    private let policy: CachingPolicy
    private let baseAddsCredentials: Bool

    init(base: Base, cache: ResponseCache<Store>) {
        self.base = base
        self.cache = cache
        further = ForwardingBase(base)
        policy = cache.policy
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

    /// A request, and one without conditions where the answer to it cannot be used; with ``CachingPolicy/staleIfSlow``, both
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
        let telling = TellingFields(
            request.head.headerFields, declaredSecret: request.options.secretFields, countsCookie: false)
        var wanted = CacheRequest(request.head.headerFields, telling, use: request.options.cacheUse)
        wanted.staleIfUnreachable = request.options.staleIfUnreachable?.seconds
        let hasPrincipal = request.options.principal != nil
        guard !baseAddsCredentials || hasPrincipal,
            let key = ResponseKey(
                storing: request, method: policy.mode.methodOfStoredResponse(to: request.head.method), telling)
        else {
            return try await pass(
                request, wanting: wanted, because: baseAddsCredentials && !hasPrincipal ? .noPrincipal : .noKey)
        }
        if hasPrincipal, request.options.skipsAuthentication {
            return try await pass(request, wanting: wanted, because: .anonymous)
        }
        if let cause = wanted.causeToPass(request, in: policy.mode) {
            return try await pass(request, wanting: wanted, storingFor: key, because: cause)
        }

        let variants = await cache.store.responses(for: key)
        if policy.invalidation == .origin, cache.originChanges.outdate(variants, at: key.uri) {
            wanted.needsValidation = true
            wanted.followsChange = true
        }
        switch CacheDecision.decide(
            request.head, wanting: wanted, from: variants, at: cache.clock.date, policy: policy)
        {
        case .serve(let stored, let age, let timeToLive):
            tell(.serve(stored, age: age, timeToLive: timeToLive), about: request)
            request.reportAsSent()
            return cache.answer(request, wanting: wanted, with: stored, age: age, timeToLive: timeToLive)
        case .serveStale(let stale, let age, let timeToLive):
            request.reportAsSent()
            let validation = cache.validateInBackground(request, key: key, stale, over: further)
            request.options.callContext?.note(
                .staleAnswer(by: policy.mode, staleFor: -timeToLive, validation: validation))
            var response = cache.answer(request, wanting: wanted, with: stale.stored, age: age, timeToLive: timeToLive)
            cache.note(validation, in: &response)
            return response
        case .refuse(let cause):
            tell(.refuse(cause), about: request)
            return cache.refuse(because: cause)
        case .validate(let stored, let cause, let fallback):
            tell(.validate(stored, because: cause, fallback: fallback), about: request)
            let forwarded = ForwardedRequest(
                request, wanting: wanted, key: key, asking: stored, because: cause, fallback: fallback,
                datedBy: cache.clock)
            return try await cache.forward(forwarded, over: further)
        case .complete(let stored, let missing):
            tell(.complete(stored, missing: missing), about: request)
            let forwarded = ForwardedRequest(
                request, wanting: wanted, key: key, completing: stored, with: missing, datedBy: cache.clock)
            return try await cache.forward(forwarded, over: further)
        case .forward(let cause, let fallback):
            tell(.forward(cause, fallback: fallback), about: request)
            let forwarded = ForwardedRequest(
                request, wanting: wanted, key: key, asking: [], because: cause, fallback: fallback,
                replacing: !variants.isEmpty, datedBy: cache.clock)
            return try await cache.forward(forwarded, over: further)
        }
    }

    /// Tells a decision to the call, which has it made only where it is heard.
    private func tell(_ decision: @autoclosure () -> CacheDecision, about request: borrowing Request) {
        request.options.callContext?.note(decision().told(by: policy.mode))
    }

    /// Sends a request that no stored response can answer, and removes the stored responses that its response
    /// invalidates.
    private func pass(
        _ request: consuming Request, wanting wanted: CacheRequest, storingFor key: ResponseKey? = nil,
        because cause: ForwardCause
    ) async throws -> Response {
        tell(wanted.isOnlyIfCached ? .refuse(cause) : .forward(cause, fallback: nil), about: request)
        if wanted.isOnlyIfCached { return cache.refuse(because: cause) }
        guard let key, cause == .method, request.head.method == .post, policy.mode == .answering else {
            return try await cache.pass(request, because: cause, over: further)
        }
        let forwarded = ForwardedRequest(
            request, wanting: wanted, key: key, asking: [], because: cause, fallback: nil, replacing: false,
            datedBy: cache.clock)
        return try await cache.passPOST(forwarded, over: further)
    }
}
