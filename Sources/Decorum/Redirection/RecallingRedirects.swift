import HTTPTypes

extension FollowingRedirectsConnection {
    /// Sends a request, and follows the remembered redirections in place of asking for them.
    func send(_ request: consuming Request, recallingFrom memory: PermanentRedirections) async throws -> Response {
        guard request.isRecallable else {
            let request = request
            let response = try await send(request, recallingFrom: memory, recalled: RecalledKeys())
            // An unsafe request may have changed the resource (RFC 9111, section 4.4), and a reload asks anew.
            if !request.head.method.isSafe || request.head.method == .get, response.status.code < 400 {
                memory.forget(request)
            }
            return response
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
            if let response = memory.response(to: request, at: clock.now) {
                let key = ResponseKey(request)
                // Where the redirection is refused now, the server's own response is the answer.
                guard try await answer(from: response, to: &request, trail: &trail) != nil else {
                    if let key { recalled.keys.append(key) }
                    continue
                }
                memory.forget(request)
            }
            request.options.sentRequests = outer
            let sent = request.collectSent()
            let asked = copy request
            let response = try await base.send(copy request)
            guard RedirectionDecision.isRedirection(response.status) else {
                return trail.end(with: response, to: request)
            }
            let head = response.head
            if let answer = try await answer(from: consume response, to: &request, trail: &trail) { return answer }
            if sent.allowsSharing { memory.learn(head, answering: asked, at: clock) }
            try Task.checkCancellation()
        }
    }
}

/// The keys of the remembered redirections that one call has followed.
private final class RecalledKeys {
    var keys: [ResponseKey] = []
}
