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

    /// Sends a request with a ticket: for several callers, or for one alone, where there are none.
    typealias Sending = @Sendable (_ ticket: StoreTicket, _ callers: SharedRequest?) async throws -> SharedAnswer

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
        switch try position(of: key, request, ticket) {
        case .first(let shared):
            // An instant costs an allocation in each asynchronous function that has one, and most callers have none.
            guard request.options.limitsWait else {
                return try await sendForAll(shared, as: SharedRequest.first, sent, send).response
            }
            if let response = try await sendInTime(shared, as: SharedRequest.first, request, sent, send) {
                return response
            }
        case .joined(let shared, let joining):
            if let response = try await wait(for: shared, joining, request, sent, send) { return response }
        case .alone: break
        }
        let answer = try await send(ticket(), nil)
        note(answer.isForAll, key)
        return answer.response
    }

    /// Waits for the response to a request that another caller has sent; returns nil where it is for that caller alone.
    private func wait(
        for shared: SharedRequest, _ joining: SharedRequest.Joining, _ request: borrowing Request,
        _ sent: SentRequests, _ send: @escaping Sending
    ) async throws -> Response? {
        request.options.callContext?.note(
            CallDecision(.joins, by: settings.layer, "an identical request is under way"))
        let start = settings.clock.now
        let number: Int
        switch joining {
        case .responded(let copy): return take(copy, for: request, since: start)
        case .waiting(let joined): number = joined
        case .late:
            tellPause(before: request)
            return nil
        }
        switch try await shared.outcome(for: number, until: request.options.deadline) {
        case .shared(let copy): return take(copy, for: request, since: start)
        case .send: return try await sendInTime(shared, as: number, request, sent, send)
        case .late: throw lateness(of: request, since: start, after: shared.attempts)
        case .alone: return nil
        }
    }

    /// Sends a request for all callers, as a caller with limits of its own.
    ///
    /// - Returns: The response; nil where the caller has to send a request alone, since the others wait longer than it can.
    private func sendInTime(
        _ shared: SharedRequest, as number: Int, _ request: borrowing Request, _ sent: SentRequests,
        _ send: @escaping Sending
    ) async throws -> Response? {
        let start = settings.clock.now
        let caller = SendingCaller(CallerLimit(request.options))
        shared.begin(as: caller)
        guard let wait = caller.wait else {
            let answer = try await sendForAll(shared, as: number, sent, send)
            return inTime(answer.response, for: request, since: start)
        }
        let sending = settings.spawner.spawn { [self] in
            await wait.deliver { .answer(try await sendForAll(shared, as: number, sent, send)) }
        }
        let outcome = try await wait.value(watchedBy: settings.watch) { sending.cancel() }
        if case .answer(let answer) = outcome { return inTime(answer.response, for: request, since: start) }
        shared.leave(to: sending)
        switch outcome {
        case .failed(let error):
            tellPause(before: request)
            throw error
        case .alone:
            tellPause(before: request)
            return nil
        case .answer, nil:
            throw lateness(of: request, since: start, after: shared.attempts)
        }
    }

    private func sendForAll(
        _ shared: SharedRequest, as number: Int, _ sent: SentRequests, _ send: Sending
    ) async throws -> SharedAnswer {
        let answer = try await shared.send(as: number, collecting: sent, send)
        note(answer.isForAll, shared.key)
        return answer
    }

    private func tellPause(before request: borrowing Request) {
        request.options.callContext?.note(
            CallDecision(
                .givesUp, by: settings.layer, "the next attempt for all callers would begin after the deadline"))
    }

    private func take(
        _ copy: SharedResponse.Copy, for request: borrowing Request, since start: ContinuousClock.Instant
    ) -> Response {
        inTime(copy.response(to: request), for: request, since: start)
    }

    /// The response with the deadline that its body has for this caller alone.
    private func inTime(
        _ response: consuming Response, for request: borrowing Request, since start: ContinuousClock.Instant
    ) -> Response {
        guard let deadline = request.options.bodyDeadline else { return response }
        response.body = response.body.failing(
            at: deadline, since: start, in: request, watchedBy: settings.watch)
        return response
    }

    private func lateness(
        of request: borrowing Request, since start: ContinuousClock.Instant, after attempts: Int
    ) -> any Error {
        var error = TransportError(.deadlineExceeded, at: .head)
        error.attempts += attempts
        return TransportError.locate(error, in: request, after: start.duration(to: settings.clock.now))
    }

    /// Records whether later callers with a key should wait for each other.
    private func note(_ isForAll: Bool, _ key: SharedRequestKey) {
        let hash = key.hashValue
        state.withLock { state in
            if isForAll { state.unshared.remove(hash) } else { state.unshared.insert(hash) }
        }
    }

    /// - Throws: `CancellationError` for a caller who is cancelled, or ``TransportError`` after the caller's deadline.
    private func position(
        of key: SharedRequestKey, _ request: borrowing Request, _ ticket: () -> StoreTicket
    ) throws -> Position {
        try Task.checkCancellation()
        if request.options.limitsWait, let deadline = request.options.deadline, deadline <= settings.clock.now {
            throw TransportError.locate(
                TransportError(.deadlineExceeded, at: .connecting), in: request, after: nil)
        }
        let hash = key.hashValue
        // Most callers find no request under way, and need no options to join one.
        let alone = state.withLock { state -> Position? in
            guard !state.unshared.contains(hash) else { return .alone }
            guard state.requests[hash] == nil else { return nil }
            let request = SharedRequest(key, ticket(), settings, among: self)
            state.requests[hash] = request
            return .first(request)
        }
        if let alone { return alone }
        // Only the deadlines are needed, which are among the values that have keys.
        let options = RequestOptions(request.options.values)
        let (position, replaced) = state.withLock { state -> (Position, SharedRequest?) in
            guard !state.unshared.contains(hash) else { return (.alone, nil) }
            let found = state.requests[hash]
            if let found {
                guard found.key == key else { return (.alone, nil) }
                if let joining = found.join(options) { return (.joined(found, joining), nil) }
            }
            let request = SharedRequest(key, ticket(), settings, among: self)
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

    /// Removes a request that no other caller can join any more.
    func remove(_ request: SharedRequest) {
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
