import HTTPTypes

/// The answers that come from stored responses.
extension ResponseCache {
    /// Answers a request from a stored response, by the conditions, range and method of the request.
    func answer(
        _ request: borrowing Request, wanting wanted: CacheRequest, with stored: StoredResponse, age: Double,
        timeToLive: Double
    ) -> Response {
        // Without a condition and a range, the answer to a GET is the stored response itself.
        let isPlain = !wanted.hasCacheFields && request.head.method == .get
        var response =
            isPlain ? Response(head: stored.head, body: stored.body) : representation(of: stored, for: request.head)
        describe(&response, to: request, from: stored, age: age)
        note(CacheStatus(hitIn: policy.name, timeToLive: timeToLive), in: &response)
        return response
    }

    /// Answers with a stale response in place of the server's response or error.
    func answer(
        _ request: borrowing Request, with fallback: StaleFallback, of forwarded: ForwardedRequest,
        because detail: String, in forwardStatus: HTTPResponse.Status? = nil
    ) -> Response {
        let age = fallback.stored.age(at: clock.date)
        var response = representation(of: fallback.stored, for: request.head)
        describe(&response, to: request, from: fallback.stored, age: age)
        var status = CacheStatus(cache: policy.name)
        status.forwardReason = forwarded.cause.reason
        status.isStored = false
        status.forwardStatus = forwardStatus
        status.timeToLive = CacheStatus.timeToLive(fallback.stored.freshness.lifetime(guessing: policy) - age)
        status.detail = detail
        note(status, in: &response)
        request.options.callContext?.note(
            CallDecision(.answers, by: policy.mode.layerName, "with a stale response; \(detail)"))
        return response
    }

    /// Answers with the response to a forwarded request, which several callers may share.
    func answer(_ request: borrowing Request, with response: consuming Response) -> Response {
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
            status.timeToLive = CacheStatus.timeToLive(
                stored.freshness.lifetime(guessing: policy) - stored.age(at: clock.date))
        }
        note(status, in: &response)
        return response
    }

    /// Answers a request that must not be sent (RFC 9111, section 5.2.1.7).
    func refuse(because cause: ForwardCause) -> Response {
        var response = Response(status: .gatewayTimeout)
        var status = CacheStatus(cache: policy.name)
        let obstacle = cause.detail ?? "nothing is stored"
        status.detail = "only-if-cached (RFC 9111, 5.2.1.7); \(obstacle)"
        note(status, in: &response)
        return response
    }

    /// Adds to the representation of a stored response what the caller learns about it.
    private func describe(
        _ response: inout Response, to request: borrowing Request, from stored: StoredResponse, age: Double
    ) {
        let field = HTTPField(name: .age, value: String(Int64(min(age, 0x1p31))))
        // Replacing searches all fields.
        if stored.hasAge {
            response.head.headerFields[fields: .age] = [field]
        } else {
            response.head.headerFields.append(field)
        }
        response.metadata.source = .cache
        response.metadata.target = request.target
        if let routeName = request.options.routeName { response.metadata.routeName = routeName }
        if !stored.decodedContentCodings.isEmpty {
            response.metadata.decodedContentCodings = stored.decodedContentCodings
        }
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
    func note(_ status: consuming CacheStatus, in response: inout Response) {
        note(SharedCacheStatus(status), in: &response)
    }

    /// Adds the cache status to a response.
    func note(_ shared: SharedCacheStatus, in response: inout Response) {
        response.metadata.sharedCacheStatus = shared
        guard policy.addsCacheStatusField else { return }
        response.head.headerFields.append(HTTPField(name: .cacheStatus, value: shared.status.description))
    }
}

extension CacheStatus {
    fileprivate init(hitIn cache: String, timeToLive: Double) {
        self.init(cache: cache)
        isHit = true
        self.timeToLive = Self.timeToLive(timeToLive)
        guard timeToLive <= 0 else { return }
        isPastLifetime = true
        detail = "stale, as the request accepts (RFC 9111, 4.2.4)"
    }

    fileprivate static func timeToLive(_ seconds: Double) -> Duration {
        .seconds(Int64(max(-0x1p31, min(seconds.rounded(.down), 0x1p31))))
    }
}
