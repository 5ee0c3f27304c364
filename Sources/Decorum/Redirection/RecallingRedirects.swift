import HTTPTypes

extension FollowingRedirectsConnection {
    /// Sends a request, and follows the remembered redirections in place of asking for them.
    func send(_ request: consuming Request, recallingFrom memory: PermanentRedirections) async throws -> Response {
        guard request.isRecallable else {
            let request = request
            // An unsafe request may have changed the resource (RFC 9111, section 4.4), and a reload asks anew.
            let changes = !request.head.method.isSafe || request.head.method == .get
            do {
                // A request that must not be sent twice could not recover from a redirection that is wrong by now.
                let response = try await follow(request)
                // A redirection means that the first response was no error.
                let hasSucceeded = response.status.code < 400 || !response.metadata.redirects.isEmpty
                if changes, hasSucceeded { memory.forget(request) }
                return response
            } catch {
                if changes, error is RedirectionLoopError || error is RedirectionLimitError { memory.forget(request) }
                throw error
            }
        }
        let original = copy request
        let recalled = RecalledKeys()
        do {
            let response = try await send(request, recallingFrom: memory, recalled: recalled)
            if response.status.code >= 400 { memory.forget(recalled.keys) }
            return response
        } catch {
            guard !recalled.keys.isEmpty, !(error is CancellationError) else { throw error }
            memory.forget(recalled.keys)
            // A server that has turned its redirections round would seem to lead in a circle.
            guard error is RedirectionLoopError || error is RedirectionLimitError else { throw error }
            return try await follow(original)
        }
    }

    private func send(
        _ request: consuming Request, recallingFrom memory: PermanentRedirections, recalled: RecalledKeys
    ) async throws -> Response {
        let outer = request.options.sentRequests
        var trail = RedirectionTrail()
        while true {
            var refused: RefusedRedirection?
            // A field that a layer further in declares secret has no place in the key.
            let holdsSecret = secretFields.contains(where: request.head.headerFields.contains)
            if !holdsSecret, let (key, response) = memory.recall(request, at: clock.now) {
                let head = response.head
                // The redirection that closes a circle throws here, and must be forgotten too.
                recalled.keys.append(key)
                guard let answer = try await answer(from: response, to: &request, trail: &trail) else { continue }
                recalled.keys.removeLast()
                refused = RefusedRedirection(key: key, head: head, refusal: answer.metadata.redirectionRefusal)
            }
            request.options.sentRequests = outer
            let sent = request.collectSent()
            let asked = copy request
            var response = try await send(copy request, after: trail)
            if let refused {
                // The policy has decided about this redirection already.
                guard !refused.isRepeated(by: response.head) else {
                    response.metadata.redirectionRefusal = refused.refusal
                    return trail.end(with: response, to: request)
                }
                memory.forget([refused.key])
            }
            guard RedirectionDecision.isRedirection(response.head) else {
                return trail.end(with: response, to: request)
            }
            let head = response.head
            if let answer = try await answer(from: consume response, to: &request, trail: &trail) { return answer }
            if sent.allowsSharing, !holdsSecret { memory.learn(head, answering: asked, at: clock) }
            try Task.checkCancellation()
        }
    }
}

/// The keys of the remembered redirections that one call has followed.
private final class RecalledKeys {
    var keys: [ResponseKey] = []
}

/// A remembered redirection that the policy of a request refuses, so that the server's own response is the answer.
private struct RefusedRedirection {
    let key: ResponseKey
    let head: HTTPResponse
    let refusal: RedirectionRefusal?

    func isRepeated(by response: HTTPResponse) -> Bool {
        response.status == head.status
            && response.headerFields[values: .location] == head.headerFields[values: .location]
    }
}
