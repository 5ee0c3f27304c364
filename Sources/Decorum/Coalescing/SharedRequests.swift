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
    ///   - request: The caller's request.
    ///   - sent: Collects the requests that `send` sends.
    ///   - ticket: Gives the ticket of a request that is about to be sent.
    ///   - send: Sends the request, in the task of the caller.
    /// - Returns: The response for this caller, whose metadata says whether it is shared.
    /// - Throws: The error of `send`, or `CancellationError` for a caller who is cancelled.
    func response(
        for key: SharedRequestKey, to request: borrowing Request, collecting sent: SentRequests,
        ticket: () -> StoreTicket, send: (StoreTicket) async throws -> SharedAnswer
    ) async throws -> Response {
        try Task.checkCancellation()
        switch position(of: key, ticket) {
        case .first(let shared):
            return try await sendForAll(shared, as: SharedRequest.first, sent, send)
        case .joined(_, .responded(let copy)):
            tellJoining(request)
            return copy.response(to: request)
        case .joined(let shared, .waiting(let number)):
            tellJoining(request)
            switch try await shared.outcome(for: number) {
            case .shared(let copy): return copy.response(to: request)
            case .send: return try await sendForAll(shared, as: number, sent, send)
            case .alone: break
            }
        case .alone: break
        }
        let answer = try await send(ticket())
        note(answer.isForAll, key)
        return answer.response
    }

    private func tellJoining(_ request: borrowing Request) {
        request.options.callContext?.note(
            CallDecision(.joins, by: settings.layer, "an identical request is under way"))
    }

    private func sendForAll(
        _ shared: SharedRequest, as number: Int, _ sent: SentRequests,
        _ send: (StoreTicket) async throws -> SharedAnswer
    ) async throws -> Response {
        let answer = try await shared.send(as: number, collecting: sent) { try await send(shared.ticket) }
        note(answer.isForAll, shared.key)
        return answer.response
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
