import Foundation
import HTTPTypes

/// Carries out the decisions of the cache rules.
struct ResponseCache<Store: ResponseStore>: Sendable {
    let store: Store
    let policy: CachingPolicy
    let clock: any DatedClock
    let spawner: any TaskSpawner
    let flights: Flights<ErrandKey>
    private let ignoredFields: FieldNames
    private let validated = BusyVariants()

    init(_ store: Store, policy: CachingPolicy, clock: any DatedClock, spawner: any TaskSpawner) {
        self.store = store
        self.policy = policy
        self.clock = clock
        self.spawner = spawner
        flights = Flights(policy: policy.coalescing, clock: clock, spawner: spawner, isOpenAfterLanding: false)
        ignoredFields = FieldNames(policy.coalescing.ignoredFields)
    }

    // MARK: Answering

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

    private func storedAnswer(to request: borrowing Request, from stored: StoredResponse, age: Double) -> Response {
        var response = representation(of: stored, for: request.head)
        response.head.headerFields[.age] = String(Int(min(age, 0x1p31)))
        response.metadata.source = .cache
        response.metadata.urlText = request.urlText
        return response
    }

    private static func timeToLive(_ seconds: Double) -> Duration {
        .seconds(Int64(max(-0x1p31, min(seconds.rounded(.down), 0x1p31))))
    }

    /// Answers a request that must not be sent (RFC 9111, section 5.2.1.7).
    func refuse(because reason: CacheStatus.ForwardReason) -> Response {
        var response = Response(status: .gatewayTimeout)
        response.metadata.source = .cache
        var status = CacheStatus(cache: policy.name)
        status.detail = "only-if-cached, \(reason)"
        note(status, in: &response)
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

    /// Adds the cache status to a response.
    func note(_ status: CacheStatus, in response: inout Response) {
        response.metadata.cacheStatus = status
        guard policy.addsCacheStatusField else { return }
        response.head.headerFields.append(HTTPField(name: .cacheStatus, value: status.description))
    }

    // MARK: Asking

    /// Runs an errand for a caller, who gets a stale response instead if that is allowed and needed.
    func run(_ errand: CacheErrand, for request: Request, over base: some Connection) async throws -> Response {
        guard let fallback = errand.fallback else {
            return answer(request, with: try await share(errand, over: base), of: errand)
        }
        do {
            let response = try await responseInTime(to: errand, over: base)
            guard let response else {
                return answer(request, with: fallback, of: errand, because: "the server is slow")
            }
            guard fallback.replaces(response.head) else { return answer(request, with: response, of: errand) }
            return answer(request, with: fallback, of: errand, because: "stale-if-error", in: response.status)
        } catch {
            guard fallback.replaces(error) else { throw error }
            return answer(request, with: fallback, of: errand, because: "the server cannot be reached")
        }
    }

    private func answer(
        _ request: Request, with fallback: StaleFallback, of errand: CacheErrand, because detail: String,
        in forwardStatus: HTTPResponse.Status? = nil
    ) -> Response {
        let age = fallback.stored.age(at: clock.date)
        var response = storedAnswer(to: request, from: fallback.stored, age: age)
        var status = CacheStatus(policy.name, forwarding: errand.reason, isStored: false)
        status.forwardStatus = forwardStatus
        status.timeToLive = Self.timeToLive(fallback.stored.freshness.lifetime(guessing: policy) - age)
        status.detail = detail
        note(status, in: &response)
        return response
    }

    /// Gives a caller the result of an errand that several callers may share.
    private func answer(_ request: Request, with response: Response, of errand: CacheErrand) -> Response {
        var answer = response
        var status = response.metadata.cacheStatus ?? CacheStatus(cache: policy.name)
        if response.metadata.isCoalesced { status.isCollapsed = true }
        if let stored = response.metadata.storedResponse {
            answer = representation(of: stored, for: request.head)
            answer.metadata = response.metadata
            answer.metadata.storedResponse = nil
            answer.metadata.source = .revalidated
            status.forwardStatus = .notModified
            status.timeToLive = Self.timeToLive(
                stored.freshness.lifetime(guessing: policy) - stored.age(at: clock.date))
        }
        note(status, in: &answer)
        return answer
    }

    /// Waits for the response to an errand for a limited time; after that, the errand continues in the background.
    private func responseInTime(to errand: CacheErrand, over base: some Connection) async throws -> Response? {
        guard let limit = policy.staleIfSlow else { return try await share(errand, over: base) }
        let handover = Handover()
        let task = spawner.spawn { [self] in
            do {
                let response = try await share(errand, over: base)
                guard let unwanted = handover.deliver(.success(response)) else { return }
                await finish(try unwanted.get())
            } catch {
                // When the caller has already used the stale response, an error is not reported, and the store is
                // unchanged.
                _ = handover.deliver(.failure(error))
            }
        }
        return try await handover.value(within: limit, on: clock, by: spawner, orCancel: task)
    }

    /// Validates a stale response in the background, once at a time for each variant.
    func validateBehind(_ request: Request, key: ResponseKey, _ stale: StaleFallback, over base: some Connection) {
        guard let variant = validated.begin(stale.stored, for: key) else { return }
        let errand = CacheErrand(behind: request, key: key, asking: stale)
        spawner.spawn { [self] in
            // A failure changes nothing: the next request validates again, or finds the response too stale to be used.
            if let response = try? await share(errand, over: base) { await finish(response) }
            validated.end(variant)
        }
    }

    /// Removes the responses that a request with an unsafe method invalidates, also those that are being stored.
    func forget(by response: HTTPResponse?, to request: HTTPRequest) async {
        guard let authority = request.authority, !request.method.isSafe else { return }
        flights.close { $0.authority == authority }
        guard let response else { return }
        for uri in InvalidationRules.invalidated(by: response, to: request) { await store.removeResponses(at: uri) }
    }

    /// Reads a response without a waiting caller to its end, so that it is stored.
    private func finish(_ response: Response) async {
        guard response.metadata.storedResponse == nil, response.metadata.cacheStatus?.isStored == true else { return }
        _ = try? await response.body.drain(upTo: store.bodyLimit)
    }

    /// Runs an errand once for all callers that have the same errand at the same time.
    private func share(_ errand: CacheErrand, over base: some Connection) async throws -> Response {
        guard errand.request.options.allowsCoalescing, let key = ErrandKey(errand, ignoring: ignoredFields) else {
            return try await perform(errand, over: base)
        }
        let response = try await flights.response(for: key, to: errand.plain, collecting: errand.sent) { [self] in
            try await perform(errand, over: base)
        }
        guard let response else { return try await perform(errand, over: base) }
        guard response.metadata.isCoalesced else { return response }
        let confirmed = response.metadata.storedResponse
        let isForOne = confirmed == nil && StoringRules.isForOneRequest(response.head)
        guard isForOne || StoringRules.varies(confirmed?.head ?? response.head, by: ignoredFields) else {
            return response
        }
        return try await perform(errand, over: base)
    }
}
