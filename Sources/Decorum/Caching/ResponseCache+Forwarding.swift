import Foundation
import HTTPTypes

/// The requests that are forwarded to the server.
extension ResponseCache {
    /// Forwards a request; the caller gets a stale response instead if that is allowed and needed.
    func forward(_ forwarded: ForwardedRequest, over base: some Connection) async throws -> Response {
        guard let fallback = forwarded.fallback else {
            return answer(forwarded.plain, with: try await share(forwarded, over: base))
        }
        // A stored response that is removed meanwhile is no fallback any more, as after a user has signed out.
        let stored = store.ticket(for: forwarded.key)
        do {
            guard let response = try await responseInTime(to: forwarded, over: base) else {
                guard stored.isCurrent else {
                    return answer(forwarded.plain, with: try await share(forwarded, over: base))
                }
                return answer(
                    forwarded.plain, with: fallback, of: forwarded,
                    because: "stale: the server is slow (RFC 9111, 4.2.4)")
            }
            guard fallback.replaces(response.head), stored.isCurrent else {
                return answer(forwarded.plain, with: response)
            }
            return answer(
                forwarded.plain, with: fallback, of: forwarded, because: "stale-if-error (RFC 5861, 4)",
                in: response.status)
        } catch {
            guard fallback.replaces(error, by: policy), stored.isCurrent else { throw error }
            let reason = error is PacingError ? "the server has asked for a pause" : "the server cannot be reached"
            return answer(
                forwarded.plain, with: fallback, of: forwarded, because: "stale: \(reason) (RFC 9111, 4.2.4)")
        }
    }

    /// Waits for the response to a request for a limited time; after that, the request continues in the background.
    private func responseInTime(to forwarded: ForwardedRequest, over base: some Connection) async throws -> Response? {
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
    func validateInBackground(
        _ request: Request, key: ResponseKey, _ stale: StaleFallback, over base: some Connection
    ) -> BackgroundValidations.Beginning {
        let beginning = backgroundValidations.begin(key, at: clock.now)
        guard beginning == .begins else { return beginning }
        let forwarded = ForwardedRequest(
            validating: request, key: key, asking: stale, datedBy: clock)
        spawner.spawn { [self] in
            // A failure changes nothing that is stored: a later request validates again, or finds it too stale to be used.
            let outcome: BackgroundValidations.Outcome
            do {
                let response = try await share(forwarded, over: base)
                let isWhole = try await finish(response)
                outcome = isWhole ? .init(response.head, at: clock.date) : .failure(asking: nil)
            } catch {
                outcome = .init(error)
            }
            backgroundValidations.end(key, as: outcome, at: clock.now)
        }
        return beginning
    }

    /// Reads a response without a waiting caller to its end, so that it is stored; returns false where it cannot be read.
    private func finish(_ response: Response) async throws -> Bool {
        let isStored = response.metadata.storedResponse == nil && response.metadata.cacheStatus?.isStored == true
        return isStored ? try await response.body.drain(upTo: store.bodyLimit) : true
    }

    /// Sends a request once for all callers that have the same request at the same time.
    private func share(_ forwarded: ForwardedRequest, over base: some Connection) async throws -> Response {
        guard forwarded.mayBeShared, policy.mode == .answering else {
            return try await exchange(forwarded, for: nil, with: store.ticket(for: forwarded.key), over: base).response
        }
        return try await sharedRequests.response(
            for: key(of: forwarded), to: forwarded.plain, collecting: forwarded.sent,
            ticket: { store.ticket(for: forwarded.key) },
            send: { [self] ticket, callers in
                try await exchange(forwarded, for: callers, with: ticket, over: base)
            })
    }

    private func key(of forwarded: ForwardedRequest) -> SharedRequestKey {
        SharedRequestKey(forwarded.plain, at: forwarded.key, ignoring: ignoredFields)
    }

    /// Sends a request, and does with the response what the rules decide.
    private func exchange(
        _ forwarded: ForwardedRequest, for callers: SharedRequest?, with ticket: StoreTicket,
        over base: some Connection
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
        over base: some Connection
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
}
