import Foundation
import HTTPTypes

/// The changes of the store after a response from the server.
extension ResponseCache {
    /// Answers with a stored response that a `304` has confirmed, and updates it (RFC 9111, section 4.3.4).
    func confirm(
        _ confirmation: ResponseDecision.Confirmation, by response: Response, in exchange: Exchange
    ) async -> SharedAnswer {
        let (stored, isRefreshed) = (confirmation.stored, confirmation.isRefreshed)
        let refreshed = StoredResponse(
            head: StoringRules.storable(confirmation.head, receivedAt: isRefreshed ? exchange.date : stored.date),
            body: stored.body, request: exchange.forwarded.plain.head,
            requestDate: isRefreshed ? exchange.requestDate : stored.requestDate,
            date: isRefreshed ? exchange.date : stored.date,
            decodedContentCodings: stored.decodedContentCodings)
        let forwarded = exchange.forwarded
        let key = forwarded.key
        var reason =
            confirmation.obstacle ?? forwarded.sent.difference.map { .noPrincipal($0) }
            ?? (isRefreshed ? exchange.ticket.isCurrent ? nil : .removedSince : .weaklyConfirmed)
        if reason == nil, await !refresh(stored, with: refreshed, in: exchange) { reason = .store }
        let isStored = reason == nil
        if confirmation.obstacle != nil { await store.removeResponses(for: key, before: exchange.ticket) }
        var response = response
        response.metadata.storedResponse = refreshed
        response.metadata.cacheStatus = status(of: isStored, forwarding: forwarded.cause.reason)
        response.metadata.cacheStatus?.detail = principalAdvice.completing(
            reason?.detail, for: forwarded.cause, reason)
        let isForAll = isStored && isForAll(refreshed) && !response.head.headerFields.contains(.setCookie)
        return SharedAnswer(response: response, isForAll: isForAll)
    }

    /// Updates a stored response: at once, or in the background if the store may have to copy its body.
    ///
    /// - Returns: Whether the store has updated it, or may do so.
    private func refresh(
        _ stored: StoredResponse, with refreshed: StoredResponse, in exchange: Exchange
    ) async -> Bool {
        let key = exchange.forwarded.key
        guard stored.body.bytes == nil else {
            return await store.refresh(stored, with: refreshed, for: key, with: exchange.ticket)
        }
        guard let variant = refreshesUnderWay.begin(stored, for: key) else { return true }
        spawner.spawn { [self] in
            await store.refresh(stored, with: refreshed, for: key, with: exchange.ticket)
            refreshesUnderWay.end(variant)
        }
        return true
    }

    /// Answers with a response, and stores it at once or while its body is read.
    ///
    /// With `isReplacing`, the stored responses are removed if the store does not take this one.
    func store(_ response: consuming Response, isReplacing: Bool, in exchange: Exchange) async -> SharedAnswer {
        var response = response
        let forwarded = exchange.forwarded
        let stored = StoredResponse(
            head: StoringRules.storable(response.head, receivedAt: exchange.date), body: response.body,
            request: forwarded.plain.head, requestDate: exchange.requestDate, date: exchange.date,
            decodedContentCodings: response.metadata.decodedContentCodings)
        let reason = await keep(stored, of: &response, in: exchange, isReplacing: isReplacing)
        if reason != nil, isReplacing { await store.removeResponses(for: forwarded.key, before: exchange.ticket) }
        response.metadata.sharedCacheStatus = status(of: reason == nil, forwarding: forwarded.cause, because: reason)
        return SharedAnswer(response: response, isForAll: isForAll(stored))
    }

    /// Has the store keep a response; returns whether the store takes it.
    private func keep(
        _ stored: StoredResponse, of response: inout Response, in exchange: Exchange, isReplacing: Bool
    ) async -> NotStored? {
        guard store.bodyLimit > 0, stored.body.length ?? 0 <= store.bodyLimit else { return .store }
        guard exchange.ticket.isCurrent else { return .removedSince }
        let key = exchange.forwarded.key
        let start =
            stored.head.status == .partialContent ? await storedStart(of: stored, to: exchange.forwarded) : nil
        if start == nil, stored.body.bytes != nil {
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

    private func storedStart(
        of part: StoredResponse, to forwarded: ForwardedRequest
    ) async -> (response: StoredResponse, body: Body)? {
        await store.responses(for: forwarded.key)
            .first { $0.isSelected(by: forwarded.plain.head) }
            .flatMap { PartialContent.extended($0, by: part) }
    }

    /// Updates or removes stored responses after the response to a `HEAD` (RFC 9111, section 4.3.5).
    func update(by head: HTTPResponse, in exchange: Exchange) async {
        let forwarded = exchange.forwarded
        let request = forwarded.plain.head
        guard exchange.ticket.isCurrent,
            let stored = await store.responses(for: forwarded.key).first(where: { $0.isSelected(by: request) }),
            !stored.cookieDiffers(from: request)
        else { return }
        let effect = Validation.effect(ofHead: head, on: stored)
        guard effect != .none else { return }
        let freshened = StoringRules.storable(
            Validation.freshened(stored.head, with: head.headerFields), receivedAt: exchange.date)
        guard effect == .refreshed, StoringRules.obstacle(toUpdating: freshened, request, policy) == nil else {
            await store.removeResponses(for: forwarded.key, before: exchange.ticket)
            return
        }
        let refreshed = StoredResponse(
            head: freshened, body: stored.body, request: request, requestDate: exchange.requestDate,
            date: exchange.date, decodedContentCodings: stored.decodedContentCodings)
        _ = await refresh(stored, with: refreshed, in: exchange)
    }

    /// Answers with a response that is not stored.
    func pass(_ response: consuming Response, because reason: NotStored? = nil, in exchange: Exchange) -> SharedAnswer {
        var response = response
        response.metadata.sharedCacheStatus = status(
            of: false, forwarding: exchange.forwarded.cause, because: reason)
        return SharedAnswer(response: response, isForAll: false)
    }

    /// The status of a response that the server has given in place of a stored one, with the reasons in words.
    func status(
        of isStored: Bool, forwarding cause: ForwardCause, because reason: NotStored? = nil
    ) -> SharedCacheStatus {
        if !isStored, cause == .nothingStored, case .refused(let refusal) = reason {
            return refusedMisses[refusal.rawValue]
        }
        var status = status(of: isStored, forwarding: cause.reason)
        var detail = reason?.detail ?? cause.detail
        if let reason = reason?.detail, let cause = cause.detail { detail = "\(cause); \(reason)" }
        status.detail = principalAdvice.completing(detail, for: cause, reason)
        return SharedCacheStatus(status, hasFixedDetail: reason?.isFixed ?? true)
    }

    private func status(of isStored: Bool, forwarding reason: CacheStatus.ForwardReason) -> CacheStatus {
        var status = CacheStatus(cache: policy.name)
        status.forwardReason = reason
        status.isStored = isStored
        return status
    }

    /// Whether callers with an equal request may have a response that another caller has asked for: only if they could
    /// be answered with it from the store.
    private func isForAll(_ stored: StoredResponse) -> Bool {
        StoringRules.mayReuse(stored, by: policy) && !StoringRules.varies(stored.head, by: ignoredFields)
    }
}
