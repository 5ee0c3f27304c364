import HTTPTypes
import Synchronization

/// One request in flight, and the callers who wait for its response.
final class Flight: Sendable {
    /// What somebody finds who joins.
    enum Boarding {
        /// The response is still to come, for the passenger of this number.
        case waiting(Int)
        /// The response is there, and nobody has read from it.
        case arrived(Response)
    }

    fileprivate enum Passenger {
        /// Has joined and is about to wait.
        case coming
        case waiting(CheckedContinuation<Response?, any Error>)
        /// Finds the outcome as soon as it waits.
        case arrived(Outcome)
    }

    /// The result for a passenger: a response, an error, or nil where both are for the first passenger alone.
    fileprivate typealias Outcome = Result<Response?, any Error>

    fileprivate struct State {
        var isOpen = true
        var hasLanded = false
        var passengers = [Flight.firstPassenger: Passenger.coming]
        var lastPassenger = Flight.firstPassenger
        var task: Task<Void, Never>?
        /// What those get who join a response that nobody has read from.
        var shared: SharedResponse?
    }

    static let firstPassenger = 0

    /// Collects the requests that are sent, which tells whether the response is for all passengers.
    let sent: SentRequests
    private let settings: FlightSettings
    private let onClose: @Sendable (Flight) -> Void
    private let state = Mutex(State())

    /// Creates a flight with its first passenger.
    init(_ settings: FlightSettings, _ sent: SentRequests, onClose: @escaping @Sendable (Flight) -> Void) {
        self.settings = settings
        self.sent = sent
        self.onClose = onClose
    }

    /// Joins; nil is returned where it is too late to.
    func board() -> Boarding? {
        state.withLock { state in
            guard state.isOpen else { return nil }
            if state.hasLanded { return state.shared?.response(isCoalesced: true).map { .arrived($0) } }
            state.lastPassenger += 1
            state.passengers[state.lastPassenger] = .coming
            return .waiting(state.lastPassenger)
        }
    }

    /// Sends the request for all passengers.
    func start(_ send: @escaping @Sendable () async throws -> Response) {
        let task = settings.spawner.spawn { [self] in
            do {
                land(.success(try await send()))
            } catch {
                land(.failure(error))
            }
        }
        state.withLock { state in
            if !state.hasLanded { state.task = task }
        }
    }

    /// Waits for a passenger's own response; nil is returned where the response is not for this passenger.
    func response(for passenger: Int) async throws -> Response? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if let outcome = wait(passenger, continuation) {
                    continuation.resume(with: outcome)
                } else if Task.isCancelled {
                    // The handler may have run before there was somebody to be found.
                    cancel(passenger)
                }
            }
        } onCancel: {
            cancel(passenger)
        }
    }

    private func wait(
        _ passenger: Int, _ continuation: CheckedContinuation<Response?, any Error>
    ) -> Outcome? {
        state.withLock { state in
            if case .arrived(let outcome) = state.passengers[passenger] {
                state.passengers[passenger] = nil
                return outcome
            }
            state.passengers[passenger] = .waiting(continuation)
            return nil
        }
    }

    /// Lets a passenger go, or cancels the request if nobody else wants it.
    private func cancel(_ passenger: Int) {
        let (continuation, task) = state.withLock { state in
            guard case .waiting(let continuation) = state.passengers[passenger] else {
                return (nil as CheckedContinuation<Response?, any Error>?, nil as Task<Void, Never>?)
            }
            if state.passengers.count > 1 {
                state.passengers[passenger] = nil
                return (continuation, nil)
            }
            // The last one waits for the end of what is done for it, as it would without anybody between.
            state.isOpen = false
            return (nil, state.task)
        }
        continuation?.resume(throwing: CancellationError())
        guard let task else { return }
        onClose(self)
        task.cancel()
    }

    /// Lets nobody join any more.
    func close() {
        state.withLock { $0.isOpen = false }
        onClose(self)
    }

    private func land(_ outcome: consuming Result<Response, any Error>) {
        let isForAll = sent.allowsSharing
        let (isOpen, landed) = state.withLock { state in
            state.hasLanded = true
            state.task = nil
            if !isForAll || !settings.isOpenAfterLanding { state.isOpen = false }
            if isForAll, state.isOpen || state.passengers.count > 1, let shared = shared(outcome) {
                state.shared = shared
            } else {
                state.isOpen = false
            }
            return (state.isOpen, state.land(outcome, isForAll: isForAll))
        }
        // From here on the transfer is its readers', who may let go of it before this function returns.
        outcome = .failure(CancellationError())
        if !isOpen { onClose(self) }
        for (continuation, outcome) in landed {
            continuation.resume(with: outcome)
        }
    }

    /// The response for sharing; nil for an error, and for a response that each may read by themselves.
    private func shared(_ outcome: Result<Response, any Error>) -> SharedResponse? {
        guard case .success(let response) = outcome, response.body.replay == .once else { return nil }
        return SharedResponse(
            head: response.head, metadata: response.metadata,
            body: SharedBody(response.body, settings) { [weak self] in self?.close() })
    }
}

extension Flight.State {
    /// Gives each passenger their own response, all of them before any can begin to read.
    fileprivate mutating func land(
        _ outcome: Result<Response, any Error>, isForAll: Bool
    ) -> [(CheckedContinuation<Response?, any Error>, Flight.Outcome)] {
        var landed: [(CheckedContinuation<Response?, any Error>, Flight.Outcome)] = []
        for number in passengers.keys.sorted() {
            let outcome = self.outcome(outcome, isForAll: isForAll, for: number)
            if case .waiting(let continuation) = passengers[number] {
                passengers[number] = nil
                landed.append((continuation, outcome))
            } else {
                passengers[number] = .arrived(outcome)
            }
        }
        return landed
    }

    private func outcome(
        _ outcome: Result<Response, any Error>, isForAll: Bool, for passenger: Int
    ) -> Flight.Outcome {
        let isCoalesced = passenger != Flight.firstPassenger
        guard isForAll || !isCoalesced else { return .success(nil) }
        if let response = shared?.response(isCoalesced: isCoalesced) { return .success(response) }
        guard isCoalesced, case .success(var response) = outcome else { return outcome.map { $0 } }
        response.metadata.isCoalesced = true
        return .success(response)
    }
}

/// A response whose body is read once and shared.
private struct SharedResponse {
    let head: HTTPResponse
    let metadata: ResponseMetadata
    let body: SharedBody

    /// Makes one more caller's response; nil is returned once somebody reads.
    func response(isCoalesced: Bool) -> Response? {
        guard let body = body.join() else { return nil }
        var response = Response(head: head, body: body, metadata: metadata)
        if isCoalesced { response.metadata.isCoalesced = true }
        return response
    }
}
