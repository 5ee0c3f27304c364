import HTTPTypes

/// The requests that no stored response can answer.
extension ResponseCache {
    /// Sends a request, and removes the stored responses that its response invalidates (RFC 9111, section 4.4).
    func pass(
        _ request: consuming Request, because cause: ForwardCause, over base: some Connection
    ) async throws -> Response {
        let head = request.head
        var response: Response
        do {
            response = try await base.send(request)
        } catch {
            await forget(by: nil, to: head)
            throw error
        }
        await forget(by: response.head, to: head)
        note(status(of: false, forwarding: cause), in: &response)
        return response
    }

    /// Sends a `POST`, whose response may answer a later `GET` (RFC 9110, section 9.3.3).
    func passPOST(_ forwarded: ForwardedRequest, over base: some Connection) async throws -> Response {
        let head = forwarded.plain.head
        let start = clock.date
        let sent = store.ticket(for: forwarded.key)
        // The response's own removals do not withdraw it, and those of the principal's responses do.
        let ofPrincipal = store.ticket(for: forwarded.key.ofPrincipalAlone)
        var response: Response
        do {
            response = try await base.send(forwarded.request(for: nil))
        } catch {
            await forget(by: nil, to: head)
            throw error
        }
        let isUnchanged = sent.isCurrent
        await forget(by: response.head, to: head)
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
            response = await self.store(response, isReplacing: false, in: exchange).response
        }
        if let status = response.metadata.cacheStatus { note(status, in: &response) }
        return response
    }

    /// Removes the responses that a request with an unsafe method invalidates; without a response, it is not known
    /// whether the server has carried out the request.
    private func forget(by response: HTTPResponse?, to request: HTTPRequest) async {
        let invalidated = InvalidationRules.invalidated(by: response, to: request)
        if policy.invalidation == .origin, let uri = invalidated.first { originChanges.note(at: uri, clock.date) }
        for uri in invalidated { await store.removeResponses(at: uri) }
    }
}
