import Foundation
import HTTPTypes
import Synchronization

/// A cache, in the order of RFC 9111: a request is answered from the store or forwarded (section 4), its response is
/// stored (section 3) or confirms what is stored (section 4.3), and an unsafe request invalidates it (section 4.4).
final class ResponseCache<Store: ResponseStore>: Sendable {
    let store: Store
    let policy: CachingPolicy
    let clock: any DatedClock
    private let spawner: any TaskSpawner
    private let sharedRequests: SharedRequests
    /// Ends the waits of callers.
    private let watch: TimeLimitWatch
    private let backgroundValidations = BackgroundValidations()
    /// The fields in which requests may differ that share a response.
    private let ignoredFields: FieldNames
    /// The status of a response that was not in the store and does not come into it, by the number of its refusal: most
    /// responses have one of these.
    private let refusedMisses: [SharedCacheStatus]

    init(_ store: Store, policy: CachingPolicy, clock: any DatedClock, spawner: any TaskSpawner) {
        (self.store, self.policy, self.clock, self.spawner) = (store, policy, clock, spawner)
        sharedRequests = SharedRequests(layer: policy.mode.layerName, clock: clock, spawner: spawner)
        watch = sharedRequests.watch
        ignoredFields = FieldNames(policy.coalescing.ignoredFields)
        refusedMisses = StoringRules.Refusal.allCases.map { refusal in
            var status = CacheStatus(cache: policy.name, forwarding: .uriMiss)
            status.detail = refusal.detail
            return SharedCacheStatus(status, hasFixedDetail: true)
        }
    }

    // Requests (RFC 9111, section 4).

    /// Answers a request from the store, or with the response to a forwarded request.
    @inline(__always)
    func respond(
        to request: consuming Request, addsCredentials: Bool, over base: any Connection
    ) async throws -> Response {
        let telling = TellingFields(
            request.head.headerFields, declaredSecret: request.options.secretFields, countsCookie: false)
        var wanted = CacheRequest(request.head.headerFields, telling, use: request.options.cacheUse)
        wanted.staleIfUnreachable = request.options.staleIfUnreachable?.seconds
        let hasPrincipal = request.options.principal != nil
        guard !addsCredentials || hasPrincipal,
            let key = ResponseKey(
                storing: request, method: policy.mode.methodOfStoredResponse(to: request.head.method), telling)
        else {
            let cause: ForwardCause = addsCredentials && !hasPrincipal ? .noPrincipal : .noKey
            return try await pass(request, wanting: wanted, because: cause, over: base)
        }
        if hasPrincipal, request.options.skipsAuthentication {
            return try await pass(request, wanting: wanted, because: .anonymous, over: base)
        }
        if let cause = wanted.causeToPass(request, in: policy.mode) {
            return try await pass(request, wanting: wanted, storingFor: key, because: cause, over: base)
        }

        let variants = await store.responses(for: key)
        let decision = CacheDecision.decide(
            request.head, wanting: wanted, from: variants, at: clock.date, policy: policy)
        request.options.callContext?.note(decision.told(by: policy.mode))
        switch consume decision {
        case .serve(let stored, let age, let timeToLive, let stale):
            request.reportAsSent()
            if let stale { validateInBackground(request, key: key, stale, over: base) }
            return answer(
                request, wanting: wanted, with: stored, age: age, timeToLive: timeToLive,
                because: stale == nil
                    ? "stale, as the request accepts (RFC 9111, 4.2.4)" : "stale-while-revalidate (RFC 5861, 3)")
        case .refuse(let cause):
            return refuse(because: cause)
        case .forward(let purpose, let cause, let fallback):
            let mayBeShared = wanted.allowsSharing(request.options)
            let forwarded = ForwardedRequest(
                request, key: key, for: purpose, because: cause, fallback: fallback, replacing: !variants.isEmpty,
                mayBeShared: mayBeShared, datedBy: clock)
            return try await forward(forwarded, over: base)
        }
    }

    // Answers from stored responses (section 4).

    /// Answers a request from a stored response, by the conditions, range and method of the request.
    private func answer(
        _ request: borrowing Request, wanting wanted: CacheRequest, with stored: StoredResponse, age: Double,
        timeToLive: Double, because detail: String
    ) -> Response {
        // Without a condition and a range, the answer to a GET is the stored response itself.
        var response =
            wanted.hasCacheFields || request.head.method != .get
            ? representation(of: stored, to: request, age: age)
            : Response(
                head: Self.aged(stored.head, from: stored, age: age), code: stored.code, body: stored.body,
                metadata: Self.metadata(request, from: stored))
        let isStale = timeToLive <= 0
        let status = CacheStatus(
            cache: policy.name, isHit: true, timeToLive: Self.duration(timeToLive), detail: isStale ? detail : nil,
            isPastLifetime: isStale)
        note(SharedCacheStatus(status), in: &response)
        return response
    }

    /// Answers with a stale response in place of the server's response or error (section 4.2.4).
    private func answer(
        with fallback: StaleFallback, to forwarded: ForwardedRequest, because detail: String,
        in forwardStatus: HTTPResponse.Status? = nil
    ) -> Response {
        let (request, stored) = (forwarded.plain, fallback.stored)
        let age = stored.age(at: clock.date)
        var response = representation(of: stored, to: request, age: age)
        var status = CacheStatus(cache: policy.name, forwarding: forwarded.cause.reason)
        status.forwardStatus = forwardStatus
        status.timeToLive = Self.duration(stored.freshness.lifetime(guessing: policy) - age)
        status.detail = detail
        note(SharedCacheStatus(status), in: &response)
        request.options.callContext?.note(
            CallDecision(.answers, by: policy.mode.layerName, "with a stale response; \(detail)"))
        return response
    }

    /// Answers with the response to a forwarded request, which several callers may share.
    private func answer(_ request: borrowing Request, with response: consuming Response) -> Response {
        // The status that it has is shared as it is.
        if !response.metadata.isCoalesced, response.metadata.storedResponse == nil, !policy.addsCacheStatusField,
            response.metadata.sharedCacheStatus != nil
        {
            return response
        }
        var response = response
        var status = response.metadata.cacheStatus ?? CacheStatus(cache: policy.name)
        if response.metadata.isCoalesced { status.isCollapsed = true }
        if let stored = response.metadata.storedResponse, policy.notModifiedAnswer == .storedResponse {
            let metadata = response.metadata
            response = representation(of: stored, for: request.head)
            response.metadata = metadata
            response.metadata.storedResponse = nil
            response.metadata.source = .revalidated
            response.metadata.decodedContentCodings = stored.decodedContentCodings
            status.forwardStatus = .notModified
            status.timeToLive = Self.duration(
                stored.freshness.lifetime(guessing: policy) - stored.age(at: clock.date))
        }
        note(SharedCacheStatus(status), in: &response)
        return response
    }

    /// Answers a request that must not be sent (section 5.2.1.7).
    private func refuse(because cause: ForwardCause) -> Response {
        var response = Response(status: .gatewayTimeout)
        var status = CacheStatus(cache: policy.name)
        status.detail = "only-if-cached (RFC 9111, 5.2.1.7); \(cause.detail ?? "nothing is stored")"
        note(SharedCacheStatus(status), in: &response)
        return response
    }

    /// The representation of a stored response with what the caller learns about it.
    private func representation(of stored: StoredResponse, to request: borrowing Request, age: Double) -> Response {
        var response = representation(of: stored, for: request.head)
        response.head = Self.aged(response.head, from: stored, age: age)
        response.metadata = Self.metadata(request, from: stored)
        return response
    }

    /// Adds the age.
    private static func aged(_ head: consuming HTTPResponse, from stored: StoredResponse, age: Double) -> HTTPResponse {
        let field = HTTPField(name: .age, value: String(Int64(min(age, 0x1p31))))
        // Replacing searches all fields.
        if stored.hasAge { head.headerFields[fields: .age] = [field] } else { head.headerFields.append(field) }
        return head
    }

    private static func metadata(_ request: borrowing Request, from stored: StoredResponse) -> ResponseMetadata {
        var metadata = ResponseMetadata(answering: request, from: .cache)
        if !stored.decodedContentCodings.isEmpty { metadata.decodedContentCodings = stored.decodedContentCodings }
        return metadata
    }

    private func representation(of stored: StoredResponse, for request: HTTPRequest) -> Response {
        if Preconditions.areMet(request.headerFields, by: stored.head, at: clock.date) {
            return Response(head: Preconditions.notModified(stored.head))
        }
        if request.method == .head { return Response(head: stored.head) }
        if let range = Preconditions.range(of: request, in: stored),
            stored.head.status == .ok || stored.head.status == .partialContent,
            let part = PartialContent.answer(range, from: stored)
        {
            return Response(head: part.head, body: part.body)
        }
        return Response(head: stored.head, body: stored.body)
    }

    /// Adds the cache status to a response.
    private func note(_ shared: SharedCacheStatus, in response: inout Response) {
        response.metadata.sharedCacheStatus = shared
        guard policy.addsCacheStatusField else { return }
        response.head.headerFields.append(HTTPField(name: .cacheStatus, value: shared.status.description))
    }

    private static func duration(_ seconds: Double) -> Duration {
        .seconds(Int64(max(-0x1p31, min(seconds.rounded(.down), 0x1p31))))
    }

    // Forwarded requests (section 4.3).

    /// Forwards a request; the caller gets a stale response instead if that is allowed and needed.
    private func forward(_ forwarded: ForwardedRequest, over base: any Connection) async throws -> Response {
        guard let fallback = forwarded.fallback else {
            return answer(forwarded.plain, with: try await share(forwarded, over: base))
        }
        // A stored response that is removed meanwhile is no fallback, as after a user has signed out.
        let stored = store.ticket(for: forwarded.key)
        do {
            guard let response = try await responseInTime(to: forwarded, over: base) else {
                guard stored.isCurrent else {
                    return answer(forwarded.plain, with: try await share(forwarded, over: base))
                }
                return answer(
                    with: fallback, to: forwarded, because: "stale: the server is slow (RFC 9111, 4.2.4)")
            }
            guard fallback.replaces(response.head), stored.isCurrent else {
                return answer(forwarded.plain, with: response)
            }
            return answer(
                with: fallback, to: forwarded, because: "stale-if-error (RFC 5861, 4)", in: response.status)
        } catch {
            guard fallback.replaces(error, by: policy), stored.isCurrent else { throw error }
            let reason = error is PacingError ? "the server has asked for a pause" : "the server cannot be reached"
            return answer(with: fallback, to: forwarded, because: "stale: \(reason) (RFC 9111, 4.2.4)")
        }
    }

    /// Waits for the response to a request for a limited time; after that, the request continues in the background.
    @inline(never)
    private func responseInTime(to forwarded: ForwardedRequest, over base: any Connection) async throws -> Response? {
        guard let limit = policy.staleIfSlow?.asLimit else { return try await share(forwarded, over: base) }
        let options = forwarded.plain.options
        let start = clock.now
        let end = start + limit
        let wait = LimitedWait<Response>(until: min(end, options.deadline ?? end))
        // The response is wanted later, too.
        let forwarded = forwarded.withoutDeadline
        let task = spawner.spawn { [self] in
            let unwanted = await wait.deliver { try await share(forwarded, over: base) }
            // When the caller has already used the stale response, an error is not reported, and the store is unchanged.
            if case .success(let response)? = unwanted { _ = try? await finish(response) }
        }
        let response = try await wait.value(watchedBy: watch) { task.cancel() }
        // Later callers must not wait for a request that only goes on in the background.
        guard var response else {
            sharedRequests.close(key(of: forwarded))
            return nil
        }
        response.body = response.body.failing(
            at: options.bodyDeadline, since: start, in: forwarded.plain, watchedBy: watch)
        return response
    }

    /// Validates a stale response in the background, once at a time for each key, and not during the pause after a failure.
    private func validateInBackground(
        _ request: Request, key: ResponseKey, _ stale: StaleFallback, over base: any Connection
    ) {
        guard backgroundValidations.begin(key, at: clock.now) else { return }
        // A caller who waits for an answer must not wait for a request that no other caller waits for.
        let forwarded = ForwardedRequest(
            request.validating(stale.stored), key: key, for: .ask([stale.stored]), because: .stale, fallback: stale,
            mayBeShared: false, datedBy: clock)
        spawner.spawn { [self] in
            // A failure changes nothing that is stored: a later request validates again, or finds it too stale to be used.
            let outcome: BackgroundValidations.Outcome
            do {
                let response = try await share(forwarded, over: base)
                let isWhole = try await finish(response)
                outcome = isWhole ? .init(response.head, at: clock.date) : .failure(asking: nil)
            } catch {
                outcome = error is CancellationError ? .cancelled : .failure(asking: nil)
            }
            backgroundValidations.end(key, as: outcome, at: clock.now)
        }
    }

    /// Reads a response without a waiting caller to its end, so that it is stored; returns false if it cannot be read.
    private func finish(_ response: Response) async throws -> Bool {
        let isStored = response.metadata.storedResponse == nil && response.metadata.cacheStatus?.isStored == true
        return isStored ? try await response.body.drain(upTo: store.bodyLimit) : true
    }

    /// Sends a request once for all callers that have the same request at the same time.
    private func share(_ forwarded: ForwardedRequest, over base: any Connection) async throws -> Response {
        guard forwarded.mayBeShared, policy.mode == .answering else {
            return try await exchange(forwarded, for: nil, with: store.ticket(for: forwarded.key), over: base).response
        }
        return try await sharedRequests.response(
            at: forwarded.key, for: key(of: forwarded), to: forwarded.plain, collecting: forwarded.sent,
            ticket: { store.ticket(for: forwarded.key) },
            send: { [self] ticket, callers in
                try await exchange(forwarded, for: callers, with: ticket, over: base)
            })
    }

    private func key(of forwarded: ForwardedRequest) -> SharedRequestKey {
        SharedRequestKey(forwarded.plain, at: forwarded.key, ignoring: ignoredFields)
    }

    // Responses (sections 3 and 4.3).

    /// A forwarded request, the times of its response, and the permission to store it.
    private struct Exchange: Sendable {
        let forwarded: ForwardedRequest
        let ticket: StoreTicket
        /// When the request that brought the response was sent.
        let requestDate: Date
        /// When the head of the response was received.
        let date: Date
        var key: ResponseKey { forwarded.key }

        /// The response as it is stored; the dates of the exchange count unless others are given.
        func stored(
            _ head: HTTPResponse, _ body: Body, decoded: [String], dated dates: (request: Date, response: Date)? = nil
        ) -> StoredResponse {
            let (requestDate, date) = dates ?? (requestDate, date)
            return StoredResponse(
                head: StoringRules.storable(head, receivedAt: date), body: body, request: forwarded.plain.head,
                requestDate: requestDate, date: date, decodedContentCodings: decoded)
        }
    }

    /// Sends a request, and does with the response what the rules decide.
    private func exchange(
        _ forwarded: ForwardedRequest, for callers: SharedRequest?, with ticket: StoreTicket,
        over base: any Connection
    ) async throws -> SharedAnswer {
        let start = clock.date
        let response = try await base.send(forwarded.request(for: callers))
        // Time that layers further in have waited before the last attempt is not part of the response's age.
        let exchange = Exchange(
            forwarded: forwarded, ticket: ticket, requestDate: forwarded.sent.date ?? start, date: clock.date)
        switch ResponseDecision.decide(about: response.head, response.body, to: forwarded, by: policy) {
        case .confirm(let confirmation):
            backgroundValidations.endPause(of: forwarded.key)
            return await confirm(confirmation, by: response, in: exchange)
        case .combine(let head, let body, let obstacle):
            var whole = response
            whole.head = head
            whole.body = body
            if let obstacle { return pass(whole, because: obstacle, in: exchange) }
            return await store(whole, isReplacing: false, in: exchange)
        case .askPlainly:
            return try await askPlainly(exchange, for: callers, after: response, over: base)
        case .update:
            await update(by: response.head, in: exchange)
            return pass(response, because: .head, in: exchange)
        case .store(let isReplacing):
            backgroundValidations.endPause(of: forwarded.key)
            return await store(response, isReplacing: isReplacing, in: exchange)
        case .forget(let reason):
            await store.removeResponses(for: forwarded.key, before: ticket)
            return pass(response, because: reason, in: exchange)
        case .pass(let reason):
            return pass(response, because: reason, in: exchange)
        }
    }

    /// Sends the request of the caller when the answer to the cache's request is not usable.
    private func askPlainly(
        _ exchange: Exchange, for callers: SharedRequest?, after response: consuming Response,
        over base: any Connection
    ) async throws -> SharedAnswer {
        let attempts = response.metadata.attempts
        // The connection of the unusable response must be free for the next request.
        let deadline = callers == nil ? exchange.forwarded.plain.options.lastDeadline : callers?.lastDeadline
        try await response.body.discard(until: deadline, on: clock)
        try Task.checkCancellation()
        var answer = try await self.exchange(
            exchange.forwarded.withoutConditions, for: callers, with: exchange.ticket, over: base)
        answer.response.metadata.attempts += attempts
        return answer
    }

    /// Answers with a response, and stores it at once or while its body is read (section 3).
    ///
    /// With `isReplacing`, the stored responses are removed if the store does not take this one.
    private func store(_ response: consuming Response, isReplacing: Bool, in exchange: Exchange) async -> SharedAnswer {
        let stored = exchange.stored(
            response.head, response.body, decoded: response.metadata.decodedContentCodings)
        let reason = await keep(stored, of: &response, in: exchange, isReplacing: isReplacing)
        if reason != nil, isReplacing { await store.removeResponses(for: exchange.key, before: exchange.ticket) }
        response.metadata.sharedCacheStatus = status(
            of: reason == nil, forwarding: exchange.forwarded.cause, because: reason)
        return SharedAnswer(response: response, isForAll: isForAll(stored))
    }

    /// Has the store keep a response; returns the reason if the store does not take it.
    private func keep(
        _ stored: StoredResponse, of response: inout Response, in exchange: Exchange, isReplacing: Bool
    ) async -> NotStored? {
        guard store.bodyLimit > 0, stored.body.length ?? 0 <= store.bodyLimit else { return .store }
        guard exchange.ticket.isCurrent else { return .removedSince }
        let key = exchange.key
        let start =
            stored.isPart ? await selected(in: exchange).flatMap { PartialContent.extended($0, by: stored) } : nil
        if start == nil, let content = stored.body.bytes {
            var stored = stored
            if stored.body.replay == .once { stored.body = Body(content).typed(like: stored.body) }
            return await store.store(stored, for: key, with: exchange.ticket) ? nil : .store
        }
        var announced = start?.response ?? stored
        announced.body = .empty
        guard let writer = await store.writer(for: announced, key: key, with: exchange.ticket) else { return .store }
        // A stored start of the content is as current as the part that continues it.
        let removesOnFailure = isReplacing && start == nil
        response.body = response.body.stored(
            BodyStoring(
                start: start?.body, writer: writer, sent: exchange.forwarded.sent,
                onFailure: { [store, ticket = exchange.ticket] in
                    if removesOnFailure { await store.removeResponses(for: key, before: ticket) }
                }))
        return nil
    }

    private func selected(in exchange: Exchange) async -> StoredResponse? {
        await store.responses(for: exchange.key).first { $0.isSelected(by: exchange.forwarded.plain.head) }
    }

    /// Answers with a stored response that a `304` has confirmed, and updates it (section 4.3.4).
    private func confirm(
        _ confirmation: ResponseDecision.Confirmation, by response: Response, in exchange: Exchange
    ) async -> SharedAnswer {
        let (stored, forwarded) = (confirmation.stored, exchange.forwarded)
        let refreshed = exchange.stored(
            confirmation.head, stored.body, decoded: stored.decodedContentCodings,
            dated: confirmation.isRefreshed ? nil : (stored.requestDate, stored.date))
        var reason =
            confirmation.obstacle ?? forwarded.sent.difference.map { .noPrincipal($0) }
            ?? (confirmation.isRefreshed ? exchange.ticket.isCurrent ? nil : .removedSince : .weaklyConfirmed)
        if reason == nil,
            await !store.refresh(stored, with: refreshed, for: exchange.key, with: exchange.ticket)
        {
            reason = .store
        }
        let isStored = reason == nil
        if confirmation.obstacle != nil { await store.removeResponses(for: exchange.key, before: exchange.ticket) }
        var response = response
        response.metadata.storedResponse = refreshed
        var status = CacheStatus(cache: policy.name, forwarding: forwarded.cause.reason, isStored: isStored)
        status.detail = reason?.detail
        response.metadata.cacheStatus = status
        let isForAll = isStored && isForAll(refreshed) && !response.head.headerFields.contains(.setCookie)
        return SharedAnswer(response: response, isForAll: isForAll)
    }

    /// Updates or removes stored responses after the response to a `HEAD` (section 4.3.5).
    private func update(by head: HTTPResponse, in exchange: Exchange) async {
        let request = exchange.forwarded.plain.head
        guard exchange.ticket.isCurrent, let stored = await selected(in: exchange),
            !stored.cookieDiffers(from: request)
        else { return }
        let effect = Validation.effect(ofHead: head, on: stored)
        guard effect != .none else { return }
        let refreshed = exchange.stored(
            Validation.freshened(stored.head, with: head.headerFields), stored.body,
            decoded: stored.decodedContentCodings)
        guard effect == .refreshed, StoringRules.obstacle(toUpdating: refreshed.head, request, policy) == nil else {
            return await store.removeResponses(for: exchange.key, before: exchange.ticket)
        }
        await store.refresh(stored, with: refreshed, for: exchange.key, with: exchange.ticket)
    }

    /// Answers with a response that is not stored.
    private func pass(
        _ response: consuming Response, because reason: NotStored? = nil, in exchange: Exchange
    ) -> SharedAnswer {
        response.metadata.sharedCacheStatus = status(
            of: false, forwarding: exchange.forwarded.cause, because: reason)
        return SharedAnswer(response: response, isForAll: false)
    }

    /// The status of a response that the server has given in place of a stored one, with the reasons in words.
    private func status(
        of isStored: Bool, forwarding cause: ForwardCause, because reason: NotStored? = nil
    ) -> SharedCacheStatus {
        if !isStored, cause == .nothingStored, case .refused(let refusal) = reason {
            return refusedMisses[refusal.rawValue]
        }
        var status = CacheStatus(cache: policy.name, forwarding: cause.reason, isStored: isStored)
        let details = [cause.detail, reason?.detail].compactMap(\.self)
        status.detail = details.isEmpty ? nil : details.joined(separator: "; ")
        return SharedCacheStatus(status, hasFixedDetail: reason?.isFixed ?? true)
    }

    /// Whether callers with an equal request may have a response that another caller has asked for: only if they could
    /// be answered with it from the store.
    private func isForAll(_ stored: StoredResponse) -> Bool {
        StoringRules.mayReuse(stored, by: policy) && !StoringRules.varies(stored.head, by: ignoredFields)
    }

    // Requests that no stored response can answer, and invalidation (section 4.4).

    private func pass(
        _ request: consuming Request, wanting wanted: CacheRequest, storingFor key: ResponseKey? = nil,
        because cause: ForwardCause, over base: any Connection
    ) async throws -> Response {
        let decision = wanted.isOnlyIfCached ? CacheDecision.refuse(cause) : .forward(because: cause)
        request.options.callContext?.note(decision.told(by: policy.mode))
        if wanted.isOnlyIfCached { return refuse(because: cause) }
        let head = request.head
        guard let key, cause == .method, head.method == .post, policy.mode == .answering else {
            var response = try await sendInvalidating(request, head, over: base)
            note(status(of: false, forwarding: cause), in: &response)
            return response
        }
        let forwarded = ForwardedRequest(
            request, key: key, because: cause, replacing: false, mayBeShared: false, datedBy: clock)
        return try await passPOST(forwarded, over: base)
    }

    /// Sends a `POST`, whose response may answer a later `GET` (RFC 9110, section 9.3.3).
    private func passPOST(_ forwarded: ForwardedRequest, over base: any Connection) async throws -> Response {
        let head = forwarded.plain.head
        let start = clock.date
        let sent = store.ticket(for: forwarded.key)
        // The response's own removals do not withdraw it, and a removal of the principal's responses does.
        let ofPrincipal = store.ticket(for: forwarded.key.ofPrincipalAlone)
        var isUnchanged = true
        var response = try await sendInvalidating(forwarded.request(for: nil), head, over: base) {
            isUnchanged = sent.isCurrent
        }
        // The first ticket was withdrawn by the response itself.
        let exchange = Exchange(
            forwarded: forwarded, ticket: store.ticket(for: forwarded.key),
            requestDate: forwarded.sent.date ?? start, date: clock.date)
        let obstacle = ResponseDecision.obstacle(
            toPOST: response.head, head, isWanted: isUnchanged && ofPrincipal.isCurrent, forwarded.sent.difference,
            policy)
        if let obstacle {
            response = pass(response, because: obstacle, in: exchange).response
        } else {
            response = await store(response, isReplacing: false, in: exchange).response
        }
        if let status = response.metadata.sharedCacheStatus { note(status, in: &response) }
        return response
    }

    /// Sends a request, and removes the stored responses that it invalidates; without a response, it is not known whether
    /// the server has carried out an unsafe request.
    private func sendInvalidating(
        _ request: consuming Request, _ head: HTTPRequest, over base: any Connection, onResponse: () -> Void = {}
    ) async throws -> Response {
        let response: Response
        do {
            response = try await base.send(request)
        } catch {
            await forget(by: nil, to: head)
            throw error
        }
        onResponse()
        await forget(by: response.head, to: head)
        return response
    }

    private func forget(by response: HTTPResponse?, to request: HTTPRequest) async {
        for uri in InvalidationRules.invalidated(by: response, to: request) { await store.removeResponses(at: uri) }
    }
}

extension CacheStatus {
    /// The status of a response to a forwarded request.
    fileprivate init(cache: String, forwarding reason: ForwardReason, isStored: Bool = false) {
        self.init(cache: cache)
        forwardReason = reason
        self.isStored = isStored
    }
}
