import Foundation
import HTTPTypes

extension Connection {
    /// Answers from stored responses as a private HTTP cache does.
    ///
    /// A `GET` or `HEAD` is answered from `store` while a stored response is fresh, by what the server said or, where
    /// it said nothing, for a tenth of the time since `Last-Modified`. A stale one is sent with `If-None-Match` and
    /// `If-Modified-Since`, and a `304` answers with the stored content and refreshed fields. Each variant that `Vary`
    /// tells apart is kept. A range is served from a stored response that has it, and parts under one strong entity tag are
    /// put together. A successful request with an unsafe method makes the responses of its URI, and of those that
    /// `Location` and `Content-Location` name at the same origin, forgotten.
    ///
    /// ```swift
    /// let connection = SystemConnection()
    ///     .retrying()
    ///     .caching(in: MemoryResponseStore())
    ///     .followingRedirects()
    /// ```
    ///
    /// **Stale responses** are used while the server is asked behind the caller's back (`stale-while-revalidate`), where
    /// the server is in trouble (`stale-if-error`), cannot be reached, or is slow: see ``CachingPolicy``. None is used
    /// that says `must-revalidate` or `no-cache`. What goes on behind the caller's back is started by `spawner`.
    ///
    /// **A body** is stored while the caller reads it, and kept only once its end was reached; one above the store's
    /// limit passes through. Requests for the same that miss at the same time are sent once, as by
    /// ``coalescing(_:clock:spawner:)``, unless the response says `no-store` or `no-cache`, or varies by what the requests
    /// may differ in. Trailer fields are not stored. A `Set-Cookie` is, as RFC 9111 asks: a layer that keeps cookies passes
    /// over those of the sources ``ResponseMetadata/Source/cache``.
    ///
    /// **A request** says what it accepts with `Cache-Control`, which is sent too, or with
    /// ``RequestOptions/cacheUse``, which is not. With `only-if-cached` a miss is `504 Gateway Timeout`. Its own
    /// `If-None-Match` and `If-Modified-Since` are answered from the store with `304`. One with `no-store`, `If-Match`,
    /// `If-Unmodified-Since`, or several ranges passes through.
    ///
    /// **A response** tells where it came from in ``ResponseMetadata/source`` and, with the reason for a miss,
    /// in ``ResponseMetadata/cacheStatus``.
    ///
    /// **Principals**: responses are kept by ``RequestOptions/principal`` and by the credentials that a request carries
    /// itself: see ``ResponseKey``. A request with a cookie may get a fresh response that was stored without one, unless it
    /// varies by `Cookie`. Where a layer further in declares that it adds credentials and the request names no principal,
    /// nothing is stored, and nothing stored is used. Where a layer adds them without declaring it, or changes the request
    /// in another way that may tell the server who asks, nothing is stored without a principal either: transports report
    /// what they send, see ``SentRequests``. ``ResponseStore/removeResponses(of:)`` forgets what one principal has.
    ///
    /// Apply it inside of ``followingRedirects(upTo:policy:clock:)``, which so remembers permanent redirections, and
    /// outside of ``retrying(_:clock:generator:)`` and of what adds credentials. See RFC 9111, RFC 5861 and RFC 8246.
    ///
    /// - Parameters:
    ///   - store: Where responses are kept.
    ///   - policy: What to do where the rules leave a choice.
    ///   - clock: Tells the ages of responses.
    ///   - spawner: Starts what goes on behind a caller's back.
    /// - Returns: A connection that sends only what it has no fresh response for.
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
    private let baseAddsCredentials: Bool

    init(base: Base, cache: ResponseCache<Store>) {
        self.base = base
        self.cache = cache
        baseAddsCredentials = base.addsCredentials
    }

    var layer: Layer {
        Layer(
            name: "caching", role: .caching,
            settings: [
                .init("heuristicFraction", cache.policy.heuristicFraction),
                .init("staleIfUnreachable", cache.policy.staleIfUnreachable),
                .init("staleIfSlow", cache.policy.staleIfSlow.map(String.init(describing:)) ?? "never"),
            ],
            facts: [.answers, .resends, .changesSignedParts, .readsClock])
    }

    @inline(__always) func send(_ request: consuming Request) async throws -> Response {
        let request = request
        let wanted = CacheRequest(request.head.headerFields, use: request.options.cacheUse)
        guard !baseAddsCredentials || request.options.principal != nil,
            let key = ResponseKey(request, method: .get)
        else { return try await pass(request, wanting: wanted, because: .bypass) }
        if let reason = wanted.reasonToPass(request) {
            return try await pass(request, wanting: wanted, storingFor: key, because: reason)
        }

        let now = cache.clock.date
        let variants = await cache.responses(for: key)
        switch CacheDecision.decide(request.head, wanting: wanted, from: variants, at: now, policy: cache.policy) {
        case .serve(let stored, let age, let timeToLive):
            request.reportSending()
            return cache.answer(request, with: stored, age: age, timeToLive: timeToLive)
        case .serveStale(let stale, let age, let timeToLive):
            request.reportSending()
            cache.validateBehind(request, key: key, stale, over: base)
            return cache.answer(request, with: stale.stored, age: age, timeToLive: timeToLive)
        case .refuse(let reason):
            return cache.refuse(because: reason)
        case .validate(let stored, let reason, let fallback):
            let errand = CacheErrand(request, key: key, asking: stored, because: reason, fallback: fallback)
            return try await cache.run(errand, for: request, over: base)
        case .complete(let stored, let missing):
            let errand = CacheErrand(request, key: key, completing: stored, with: missing)
            return try await cache.run(errand, for: request, over: base)
        case .forward(let reason, let fallback):
            let errand = CacheErrand(
                request, key: key, asking: [], because: reason, fallback: fallback, replacing: !variants.isEmpty)
            return try await cache.run(errand, for: request, over: base)
        }
    }

    /// Sends a request that nothing stored can answer, and forgets what its response makes worthless.
    private func pass(
        _ request: consuming Request, wanting wanted: CacheRequest, storingFor key: ResponseKey? = nil,
        because reason: CacheStatus.ForwardReason
    ) async throws -> Response {
        if wanted.isOnlyIfCached { return cache.refuse(because: reason) }
        let head = request.head
        let date = cache.clock.date
        let sent = key == nil ? nil : request.collectSent()
        var response: Response
        do {
            response = try await base.send(request)
        } catch {
            // Whether the server has done what it was asked to is not known.
            await cache.forget(by: nil, to: head)
            throw error
        }
        await cache.forget(by: response.head, to: head)
        var isStored = false
        if let key, let sent, head.method == .post, reason == .method,
            (try? StoringRules.check(response.head, toPost: head)) != nil, cache.policy.mayStore(head, response.head)
        {
            let departure = cache.changes.departure(of: key, for: cache.store, at: date)
            isStored = await cache.store(&response, to: head, sent, departure, for: key, replacing: false)
        }
        cache.note(CacheStatus(cache.policy.name, forwarding: reason, isStored: isStored, for: sent), in: &response)
        return response
    }
}
