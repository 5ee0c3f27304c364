import HTTPTypes
import Synchronization

/// One request in flight, and the callers who wait for its response.
final class Flight: Sendable {
    /// The result of joining.
    enum Boarding {
        /// The response has not arrived; the caller waits as the passenger of this number.
        case waiting(Int)
        /// The response has arrived and is unread.
        case arrived(Response)
    }

    fileprivate enum Passenger {
        /// The passenger has joined and is about to wait.
        case coming
        case waiting(CheckedContinuation<Response?, any Error>)
        /// The outcome is there before the passenger waits.
        case arrived(Outcome)
    }

    /// The result for a passenger: a response, an error, or nil when both are only for the first passenger.
    fileprivate typealias Outcome = Result<Response?, any Error>

    fileprivate struct State {
        var isOpen = true
        var hasLanded = false
        var passengers = [Flight.firstPassenger: Passenger.coming]
        var lastPassenger = Flight.firstPassenger
        var task: Task<Void, Never>?
        /// The response for callers who join while it is unread.
        var shared: SharedResponse?
    }

    static let firstPassenger = 0

    /// Collects the requests that are sent, which determine whether the response is for all passengers.
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

    /// Joins; returns nil when it is too late.
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

    /// Waits for the response of a passenger; returns nil when the response is not for this passenger.
    func response(for passenger: Int) async throws -> Response? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if let outcome = wait(passenger, continuation) {
                    continuation.resume(with: outcome)
                } else if Task.isCancelled {
                    // The handler may have run before the passenger was waiting.
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

    /// Removes a passenger, or cancels the request if it was the last passenger.
    private func cancel(_ passenger: Int) {
        let (continuation, task) = state.withLock { state in
            guard case .waiting(let continuation) = state.passengers[passenger] else {
                return (nil as CheckedContinuation<Response?, any Error>?, nil as Task<Void, Never>?)
            }
            if state.passengers.count > 1 {
                state.passengers[passenger] = nil
                return (continuation, nil)
            }
            // The last passenger waits for the end of the cancelled request, as it would without coalescing.
            state.isOpen = false
            return (nil, state.task)
        }
        continuation?.resume(throwing: CancellationError())
        guard let task else { return }
        onClose(self)
        task.cancel()
    }

    /// Closes the flight for new passengers.
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
        // From here on, only the readers keep the transfer alive; they may drop it before this function returns.
        outcome = .failure(CancellationError())
        if !isOpen { onClose(self) }
        for (continuation, outcome) in landed {
            continuation.resume(with: outcome)
        }
    }

    /// The response for sharing; nil for an error, and for a response whose body each passenger can read separately.
    private func shared(_ outcome: Result<Response, any Error>) -> SharedResponse? {
        guard case .success(let response) = outcome, response.body.replay == .once else { return nil }
        return SharedResponse(
            head: response.head, metadata: response.metadata,
            body: SharedBody(response.body, settings) { [weak self] in self?.close() })
    }
}

extension Flight.State {
    /// Gives each passenger a response; all get one before any passenger can begin to read.
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

    /// Makes the response of one more caller; returns nil once the body is being read.
    func response(isCoalesced: Bool) -> Response? {
        guard let body = body.join() else { return nil }
        var response = Response(head: head, body: body, metadata: metadata)
        if isCoalesced { response.metadata.isCoalesced = true }
        return response
    }
}
