import HTTPTypes

/// The answers that come from stored responses.
extension ResponseCache {
    /// Answers a request from a stored response, by the conditions, range and method of the request.
    func answer(
        _ request: borrowing Request, with stored: StoredResponse, age: Double, timeToLive: Double
    ) -> Response {
        var response = storedAnswer(to: request, from: stored, age: age)
        var status = CacheStatus(cache: policy.name)
        status.isHit = true
        status.timeToLive = Self.timeToLive(timeToLive)
        note(status, in: &response)
        return response
    }

    /// Answers with a stale response in place of the server's response or error.
    func answer(
        _ request: borrowing Request, with fallback: StaleFallback, of forwarded: ForwardedRequest,
        because detail: String, in forwardStatus: HTTPResponse.Status? = nil
    ) -> Response {
        let age = fallback.stored.age(at: clock.date)
        var response = storedAnswer(to: request, from: fallback.stored, age: age)
        var status = CacheStatus(cache: policy.name)
        status.forwardReason = forwarded.cause.reason
        status.isStored = false
        status.forwardStatus = forwardStatus
        status.timeToLive = Self.timeToLive(fallback.stored.freshness.lifetime(guessing: policy) - age)
        status.detail = detail
        note(status, in: &response)
        return response
    }

    /// Answers with the response to a forwarded request, which several callers may share.
    func answer(_ request: borrowing Request, with response: consuming Response) -> Response {
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
            status.timeToLive = Self.timeToLive(
                stored.freshness.lifetime(guessing: policy) - stored.age(at: clock.date))
        }
        note(status, in: &response)
        return response
    }

    /// Answers a request that must not be sent (RFC 9111, section 5.2.1.7).
    func refuse(because cause: ForwardCause) -> Response {
        var response = Response(status: .gatewayTimeout)
        response.metadata.source = .cache
        var status = CacheStatus(cache: policy.name)
        let obstacle = cause.detail ?? "nothing is stored"
        status.detail = "only-if-cached (RFC 9111, 5.2.1.7); \(obstacle)"
        note(status, in: &response)
        return response
    }

    private func storedAnswer(to request: borrowing Request, from stored: StoredResponse, age: Double) -> Response {
        var response = representation(of: stored, for: request.head)
        response.head.headerFields[.age] = String(Int(min(age, 0x1p31)))
        response.metadata.source = .cache
        response.metadata.target = request.target
        if !stored.decodedContentCodings.isEmpty {
            response.metadata.decodedContentCodings = stored.decodedContentCodings
        }
        return response
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

    private static func timeToLive(_ seconds: Double) -> Duration {
        .seconds(Int64(max(-0x1p31, min(seconds.rounded(.down), 0x1p31))))
    }

    /// Adds the cache status to a response.
    func note(_ status: CacheStatus, in response: inout Response) {
        response.metadata.cacheStatus = status
        guard policy.addsCacheStatusField else { return }
        response.head.headerFields.append(HTTPField(name: .cacheStatus, value: status.description))
    }
}
