import Synchronization

/// The requests that are under way and may be shared: a caller with the same key as one of them gets its response.
///
/// Each caller is cancelled separately; the request is cancelled with the last caller.
final class SharedRequests: Sendable {
    private struct State {
        /// The requests that can be joined, by the hash of their key.
        var requests: [Int: SharedRequest] = [:]
        var unshared = UnsharedKeys()
    }

    private let state = Mutex(State())
    private let settings: SharedRequestSettings

    init(_ settings: SharedRequestSettings) {
        self.settings = settings
    }

    /// The number of requests that can be joined.
    var count: Int { state.withLock { $0.requests.count } }

    /// The position of a caller.
    private enum Position {
        case first(SharedRequest)
        case joined(SharedRequest, SharedRequest.Joining)
        /// Earlier responses under the key were for one caller alone, or an unequal key has the same hash.
        case alone
    }

    /// Shares the response of the request under a key, or sends one.
    ///
    /// - Parameters:
    ///   - key: The key that callers have to share to get one response.
    ///   - request: The caller's request, whose deadlines end the wait of this caller alone.
    ///   - sent: Collects the requests that `send` sends.
    ///   - ticket: Gives the ticket of a request that is about to be sent.
    ///   - send: Sends the request, for all callers or for this one alone; for all, in a task of its own where the caller
    ///     has a deadline.
    /// - Returns: The response for this caller, whose metadata says whether it is shared.
    /// - Throws: The error of `send`, `CancellationError` for a caller who is cancelled, or ``TransportError`` at the
    ///   caller's deadline.
    func response(
        for key: SharedRequestKey, to request: borrowing Request, collecting sent: SentRequests,
        ticket: () -> StoreTicket, send: @escaping Sending
    ) async throws -> Response {
        try Task.checkCancellation()
        let deadline = request.options.deadline
        if let deadline, deadline <= settings.clock.now {
            throw TransportError.locate(
                TransportError(.deadlineExceeded, at: .connecting), at: try? Origin(request.head), after: nil,
                routeName: request.options.routeName)
        }
        switch position(of: key, ticket) {
        case .first(let shared):
            return try await sendForAll(shared, as: SharedRequest.first, request, until: deadline, sent, send)
        case .joined(_, .responded(let copy)):
            tellJoining(request)
            return take(copy, for: request)
        case .joined(let shared, .waiting(let number)):
            tellJoining(request)
            let start = settings.clock.now
            switch try await shared.outcome(for: number, until: deadline) {
            case .shared(let copy): return take(copy, for: request)
            case .send: return try await sendForAll(shared, as: number, request, until: deadline, sent, send)
            case .late: throw lateness(of: request, since: start)
            case .alone: break
            }
        case .alone: break
        }
        let answer = try await send(ticket(), false)
        note(answer.isForAll, key)
        return answer.response
    }

    private func tellJoining(_ request: borrowing Request) {
        request.options.callContext?.note(
            CallDecision(.joins, by: settings.layer, "an identical request is under way"))
    }

    /// Sends a request with a ticket: for all callers, or for one alone.
    typealias Sending = @Sendable (_ ticket: StoreTicket, _ isForAll: Bool) async throws -> SharedAnswer

    private func take(_ copy: SharedResponse.Copy, for request: borrowing Request) -> Response {
        inTime(copy.response(to: request), for: request)
    }

    /// The response with the deadline that its body has for this caller alone.
    private func inTime(_ response: consuming Response, for request: borrowing Request) -> Response {
        guard let deadline = request.options.bodyDeadline else { return response }
        response.body = response.body.failing(
            at: deadline, from: try? Origin(request.head), watchedBy: settings.watch)
        return response
    }

    private func lateness(of request: borrowing Request, since start: ContinuousClock.Instant) -> any Error {
        TransportError.locate(
            TransportError(.deadlineExceeded, at: .head), at: try? Origin(request.head),
            after: start.duration(to: settings.clock.now), routeName: request.options.routeName)
    }

    private func sendForAll(
        _ shared: SharedRequest, as number: Int, _ request: borrowing Request,
        until deadline: ContinuousClock.Instant?, _ sent: SentRequests, _ send: @escaping Sending
    ) async throws -> Response {
        guard let deadline else {
            let answer = try await sendForAll(shared, as: number, sent, send)
            return inTime(answer.response, for: request)
        }
        let start = settings.clock.now
        let wait = LimitedWait<SharedAnswer>(until: deadline)
        let sending = settings.spawner.spawn { [self] in
            await wait.deliver { try await self.sendForAll(shared, as: number, sent, send) }
        }
        let answer = try await wait.value(watchedBy: settings.watch) { sending.cancel() }
        guard let answer else {
            shared.leave(to: sending)
            throw lateness(of: request, since: start)
        }
        return inTime(answer.response, for: request)
    }

    private func sendForAll(
        _ shared: SharedRequest, as number: Int, _ sent: SentRequests, _ send: Sending
    ) async throws -> SharedAnswer {
        let answer = try await shared.send(as: number, collecting: sent) { try await send(shared.ticket, true) }
        note(answer.isForAll, shared.key)
        return answer
    }

    /// Records whether later callers with a key should wait for each other.
    private func note(_ isForAll: Bool, _ key: SharedRequestKey) {
        let hash = key.hashValue
        state.withLock { state in
            if isForAll { state.unshared.remove(hash) } else { state.unshared.insert(hash) }
        }
    }

    private func position(of key: SharedRequestKey, _ ticket: () -> StoreTicket) -> Position {
        let hash = key.hashValue
        let (position, replaced) = state.withLock { state -> (Position, SharedRequest?) in
            guard !state.unshared.contains(hash) else { return (.alone, nil) }
            let found = state.requests[hash]
            if let found {
                guard found.key == key else { return (.alone, nil) }
                if let joining = found.join() { return (.joined(found, joining), nil) }
            }
            let request = SharedRequest(key, ticket(), settings) { [weak self] in self?.remove($0) }
            state.requests[hash] = request
            return (.first(request), found)
        }
        // The end of a transfer may need a lock of its own.
        withExtendedLifetime(replaced) {}
        return position
    }

    /// Closes the request under a key for new callers, since it takes too long.
    func close(_ key: SharedRequestKey) {
        remove(at: key) { $0.key == key }
    }

    private func remove(_ request: SharedRequest) {
        // A closed request may have been replaced by the next one.
        remove(at: request.key) { $0 === request }
    }

    private func remove(at key: SharedRequestKey, if isMeant: (SharedRequest) -> Bool) {
        let hash = key.hashValue
        let removed = state.withLock { state -> SharedRequest? in
            guard let request = state.requests[hash], isMeant(request) else { return nil }
            return state.requests.removeValue(forKey: hash)
        }
        // The end of a transfer may need a lock of its own.
        withExtendedLifetime(removed) {}
    }
}
