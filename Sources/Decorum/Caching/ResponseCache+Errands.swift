import Foundation
import HTTPTypes

extension ResponseCache {
    /// Sends the request to the server, and updates the store with its answer.
    func perform(_ errand: CacheErrand, over base: some Connection) async throws -> Response {
        let departure = Departure(date: clock.date, ticket: store.ticket(for: errand.key))
        var response = try await base.send(errand.request)
        var isReplacing = errand.isReplacing
        switch errand.purpose {
        case .ask(let stored) where response.status == .notModified && !stored.isEmpty:
            if let confirmed = Validation.confirmed(by: response.head, among: stored, for: errand.plain.head) {
                return await confirm(confirmed, by: response, to: errand, departure)
            }
            // It may concern the condition of the caller, which the cache has also sent.
            guard errand.plain.isConditional else {
                return try await performPlainly(errand, after: response, over: base)
            }
        case .complete(let stored) where response.status == .partialContent:
            guard let whole = PartialContent.combined(stored, with: response.head, response.body) else {
                return try await performPlainly(errand, after: response, over: base)
            }
            response.head = whole.head
            response.body = whole.body
            isReplacing = false
        case .complete where response.status == .rangeNotSatisfiable:
            return try await performPlainly(errand, after: response, over: base)
        case .ask, .complete:
            break
        }
        return await bringIn(response, of: errand, departure, replacing: isReplacing)
    }

    /// Sends the original request of the caller when the answer to the cache's request is not usable.
    private func performPlainly(
        _ errand: CacheErrand, after response: consuming Response, over base: some Connection
    ) async throws -> Response {
        let attempts = response.metadata.attempts
        // The connection of the unusable response must be free for the next request.
        try await response.body.discard(on: clock)
        try Task.checkCancellation()
        var response = try await perform(errand.withoutConditions, over: base)
        response.metadata.attempts += attempts
        return response
    }

    /// Refreshes the responses that a `304` has confirmed (RFC 9111, section 4.3.4).
    private func confirm(
        _ stored: StoredResponse, by response: Response, to errand: CacheErrand, _ departure: Departure
    ) async -> Response {
        let isRefreshed = Validation.mayRefresh(stored.head, by: response.head)
        let date = isRefreshed ? clock.date : stored.date
        let head = StoringRules.storable(Validation.freshened(stored.head, by: response.head), receivedAt: date)
        let refreshed = StoredResponse(
            head: head, body: stored.body, request: errand.plain.head,
            requestDate: isRefreshed ? departure.date : stored.requestDate, date: date)
        let mayStay = mayStay(head, answering: errand.plain.head)
        let isStored =
            mayStay && isRefreshed && errand.sent.allowsSharing
            && departure.ticket.isCurrent
        if isStored { await store.refresh(stored, with: refreshed, for: errand.key, with: departure.ticket) }
        if !mayStay { await store.removeResponses(for: errand.key) }
        var response = response
        response.metadata.storedResponse = refreshed
        response.metadata.cacheStatus = CacheStatus(
            policy.name, forwarding: errand.reason, isStored: isStored, for: errand.sent)
        return response
    }

    /// Whether a stored response may stay stored with its updated fields.
    private func mayStay(_ head: HTTPResponse, answering request: HTTPRequest) -> Bool {
        !CacheControl(head.headerFields).contains("no-store") && !Vary(head.headerFields).isAny
            && policy.mayStore(request, head)
    }

    /// Stores a response if that is allowed, and removes the stored responses that it invalidates.
    private func bringIn(
        _ response: consuming Response, of errand: CacheErrand, _ departure: Departure,
        replacing isReplacing: Bool
    ) async -> Response {
        var response = response
        var isStored = false
        let request = errand.plain.head
        if request.method == .head {
            if errand.sent.allowsSharing { await update(errand.key, with: response.head, to: request, departure) }
        } else if errand.fallback?.replaces(response.head) != true {
            let isReplacing = isReplacing && StoringRules.replaces(response.status)
            if (try? StoringRules.check(response.head, to: request)) != nil, policy.mayStore(request, response.head) {
                isStored = await store(
                    &response, to: request, errand.sent, departure, for: errand.key, replacing: isReplacing)
            }
            // A response that is only for one caller says nothing about the responses for others.
            if isReplacing, !isStored, errand.sent.allowsSharing { await store.removeResponses(for: errand.key) }
        }
        response.metadata.cacheStatus = CacheStatus(
            policy.name, forwarding: errand.reason, isStored: isStored, for: errand.sent)
        return response
    }

    /// Updates or removes stored responses after the response to a `HEAD` (RFC 9111, section 4.3.5).
    private func update(
        _ key: ResponseKey, with head: HTTPResponse, to request: HTTPRequest, _ departure: Departure
    ) async {
        guard departure.ticket.isCurrent, let stored = await store.responses(for: key).first(where: { $0.isSelected(by: request) })
        else { return }
        let effect = Validation.effect(ofHead: head, on: stored)
        guard effect != .none else { return }
        let date = clock.date
        let freshened = StoringRules.storable(
            Validation.freshened(stored.head, with: head.headerFields), receivedAt: date)
        guard effect == .refreshed, mayStay(freshened, answering: request) else {
            await store.removeResponses(for: key)
            return
        }
        let refreshed = StoredResponse(
            head: freshened, body: stored.body, request: request, requestDate: departure.date, date: date)
        await store.refresh(stored, with: refreshed, for: key, with: departure.ticket)
    }

    /// Stores a response at once, or while its body is read, unless there was a change in the meantime, or the response
    /// is only for the caller.
    ///
    /// With `isReplacing`, the stored response is removed if the store does not take the new body.
    ///
    /// - Returns: Whether it is stored, if its body is read to its end.
    func store(
        _ response: inout Response, to request: HTTPRequest, _ sent: SentRequests,
        _ departure: Departure, for key: ResponseKey, replacing isReplacing: Bool
    ) async -> Bool {
        guard sent.allowsSharing, store.bodyLimit > 0, response.body.length ?? 0 <= store.bodyLimit,
            departure.ticket.isCurrent
        else { return false }
        let date = clock.date
        var stored = StoredResponse(
            head: StoringRules.storable(response.head, receivedAt: date),
            body: response.body.isEmpty ? .empty : response.body,
            request: request, requestDate: departure.date, date: date)
        let start =
            response.status == .partialContent
            ? await store.responses(for: key)
                .first { $0.isSelected(by: request) }
                .flatMap { PartialContent.extended($0, by: stored) }
            : nil
        if start == nil, stored.body.bytes != nil {
            await store.store(stored, for: key, with: departure.ticket)
            return true
        }
        stored.body = .empty
        let announced = start?.response ?? stored
        // A stored start of the content is as current as the part that continues it.
        let isReplacing = isReplacing && start == nil
        response.body = response.body.stored(
            BodyStoring(
                start: start?.body,
                open: { [store] in await store.writer(for: announced, key: key, with: departure.ticket) },
                keep: { writer in
                    // A layer that resumes an interrupted body has sent another request since the head arrived.
                    guard sent.allowsSharing else { return }
                    await writer.finish()
                },
                giveUp: { [store] in if isReplacing { await store.removeResponses(for: key) } }))
        return true
    }
}

extension Request {
    fileprivate var isConditional: Bool {
        head.headerFields.contains(.ifNoneMatch) || head.headerFields.contains(.ifModifiedSince)
    }
}

extension CacheStatus {
    init(_ cache: String, forwarding reason: ForwardReason, isStored: Bool, for sent: SentRequests? = nil) {
        self.init(cache: cache)
        forwardReason = reason
        self.isStored = isStored
        if !isStored, let difference = sent?.difference {
            detail = "not stored without a principal, since \(difference)"
        }
    }
}
