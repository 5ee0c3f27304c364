import Synchronization

/// One request that is sent for several callers, and the callers who wait for its response.
///
/// The first caller sends the request in its own task. When that task is cancelled while others wait, the next caller
/// sends it again.
final class SharedRequest: Sendable {
    /// The position of a caller who has joined.
    enum Joining {
        /// The response is there and unread.
        case responded(SharedResponse.Copy)
        /// The response is not there yet; the caller waits under this number.
        case waiting(Int)
    }

    /// The result of waiting.
    enum Outcome {
        /// The response, which other callers get too.
        case shared(SharedResponse.Copy)
        /// The response is for another caller alone: this one sends its own request.
        case alone
        /// The caller who was sending the request was cancelled: this one sends it for all.
        case send
        /// The deadline of the caller has passed, while the request goes on for others.
        case late
    }

    fileprivate typealias Waiter = CheckedContinuation<Outcome, any Error>

    fileprivate struct State {
        /// Whether a caller may still join.
        var isOpen = true
        /// The number of the caller who sends the request.
        var sender = SharedRequest.first
        var hasOutcome = false
        /// The response for callers who join while it is unread.
        var response: SharedResponse?
        /// The waiting callers by number; nil between joining and waiting.
        var waiters: [Int: Waiter?] = [:]
        /// The results for callers who do not wait yet.
        var outcomes: [Int: Result<Outcome, any Error>] = [:]
        var lastNumber = SharedRequest.first
        /// The task that sends the request although its caller has left; nil where the caller waits.
        var sending: Task<Void, Never>?
    }

    /// The number of the caller who came first.
    static let first = 0

    let key: SharedRequestKey
    /// The permission to store the response; once it is withdrawn, later callers need a later response.
    let ticket: StoreTicket
    private let settings: SharedRequestSettings
    private let onClose: @Sendable (SharedRequest) -> Void
    private let state = Mutex(State())

    init(
        _ key: SharedRequestKey, _ ticket: StoreTicket, _ settings: SharedRequestSettings,
        onClose: @escaping @Sendable (SharedRequest) -> Void
    ) {
        self.key = key
        self.ticket = ticket
        self.settings = settings
        self.onClose = onClose
    }

    /// Joins; returns nil when it is too late.
    func join() -> Joining? {
        guard ticket.isCurrent else { return nil }
        return state.withLock { state in
            guard state.isOpen else { return nil }
            if state.hasOutcome { return state.response?.copy(isCoalesced: true).map { .responded($0) } }
            state.lastNumber += 1
            state.waiters[state.lastNumber] = .some(nil)
            return .waiting(state.lastNumber)
        }
    }

    /// Sends the request for all callers, and gives each waiting caller the result of its wait.
    ///
    /// - Parameters:
    ///   - number: The number of the caller who sends it.
    ///   - sent: Collects the requests that are sent: the outcome is for one caller alone if they differ from the request
    ///     that was asked for.
    ///   - send: Sends the request.
    /// - Returns: The response of this caller.
    /// - Throws: The error of `send`.
    func send(
        as number: Int, collecting sent: SentRequests, _ send: () async throws -> SharedAnswer
    ) async throws -> SharedAnswer {
        try await withTaskCancellationHandler {
            do {
                return respond(try await send(), sent, of: number)
            } catch {
                // Another layer's cancellation is not that of the other callers.
                fail(error, isForAll: sent.allowsSharing && !(error is CancellationError), of: number)
                throw error
            }
        } onCancel: {
            replaceSender(number)
        }
    }

    /// Waits until the request has a response or needs another caller to send it, and no longer than until a deadline.
    func outcome(for number: Int, until deadline: ContinuousClock.Instant?) async throws -> Outcome {
        let limit = deadline.map { CallerLimit(self, number, $0) }
        defer { if let limit { settings.watch.remove(limit) } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                if let outcome = wait(number, waiter) {
                    waiter.resume(with: outcome)
                } else if Task.isCancelled {
                    // The handler may have run before the caller was waiting.
                    leave(number, with: .failure(CancellationError()))
                } else if let limit {
                    settings.watch.add(limit)
                }
            }
        } onCancel: {
            leave(number, with: .failure(CancellationError()))
        }
    }

    /// Leaves the request to a task, since the caller who sends it has reached its deadline; without another caller, the
    /// task is cancelled.
    func leave(to task: Task<Void, Never>) {
        let isWanted = state.withLock { state in
            guard !state.waiters.isEmpty, !state.hasOutcome else { return state.hasOutcome }
            state.sending = task
            return true
        }
        if !isWanted { task.cancel() }
    }

    private func wait(_ number: Int, _ waiter: Waiter) -> Result<Outcome, any Error>? {
        state.withLock { state in
            if let outcome = state.outcomes.removeValue(forKey: number) { return outcome }
            state.waiters[number] = waiter
            return nil
        }
    }

    /// Ends the wait of a caller, if it still waits; the request goes on as long as another caller wants it.
    func leave(_ number: Int, with outcome: Result<Outcome, any Error>) {
        let (waiter, unwanted) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            guard let waiter = state.waiters[number] ?? nil else { return (nil, nil) }
            state.waiters[number] = nil
            return (waiter, state.waiters.isEmpty ? state.sending.take() : nil)
        }
        unwanted?.cancel()
        waiter?.resume(with: outcome)
    }

    /// Gives the response to all callers if it is for all; returns that of the caller who sent the request.
    private func respond(_ answer: SharedAnswer, _ sent: SentRequests, of number: Int) -> SharedAnswer {
        var answer = answer
        let (outcomes, isClosed) = state.withLock { state -> ([(Waiter, Result<Outcome, any Error>)], Bool) in
            guard state.sender == number, !state.hasOutcome else { return ([], false) }
            state.hasOutcome = true
            // A body that can be read again has no first reader, who would end the joining.
            let isOneTime = answer.response.body.replay == .once
            if !answer.isForAll || !isOneTime || !settings.isOpenAfterArrival { state.isOpen = false }
            guard answer.isForAll, state.isOpen || !state.waiters.isEmpty else {
                return (state.takeOutcomes { .success(.alone) }, true)
            }
            let shared = SharedResponse(answer.response, sent, settings) { [weak self] in self?.close() }
            if let own = shared.copy(isCoalesced: false) { answer.response = own.response }
            if state.isOpen { state.response = shared }
            let outcomes = state.takeOutcomes {
                shared.copy(isCoalesced: true).map { .success(.shared($0)) } ?? .success(.alone)
            }
            return (outcomes, !state.isOpen)
        }
        resume(outcomes, isClosed: isClosed)
        return answer
    }

    private func fail(_ error: any Error, isForAll: Bool, of number: Int) {
        let outcomes = state.withLock { state -> [(Waiter, Result<Outcome, any Error>)]? in
            guard state.sender == number, !state.hasOutcome else { return nil }
            state.hasOutcome = true
            state.isOpen = false
            return state.takeOutcomes { isForAll ? .failure(error) : .success(.alone) }
        }
        if let outcomes { resume(outcomes, isClosed: true) }
    }

    /// Lets the next caller send the request; without another caller, no caller can join any more.
    private func replaceSender(_ number: Int) {
        let (waiter, isClosed) = state.withLock { state -> (Waiter?, Bool) in
            guard state.sender == number, !state.hasOutcome else { return (nil, false) }
            guard let next = state.waiters.keys.min() else {
                state.isOpen = false
                return (nil, true)
            }
            state.sender = next
            let waiter = state.waiters.removeValue(forKey: next) ?? nil
            if waiter == nil { state.outcomes[next] = .success(.send) }
            return (waiter, false)
        }
        waiter?.resume(returning: .send)
        if isClosed { onClose(self) }
    }

    private func resume(_ outcomes: [(Waiter, Result<Outcome, any Error>)], isClosed: Bool) {
        if isClosed { onClose(self) }
        for (waiter, outcome) in outcomes { waiter.resume(with: outcome) }
    }

    /// Closes the request for new callers.
    func close() {
        state.withLock { $0.isOpen = false }
        onClose(self)
    }
}

extension SharedRequest.State {
    /// Makes the result for each waiting caller; all get one before any can begin to read.
    fileprivate mutating func takeOutcomes(
        _ outcome: () -> Result<SharedRequest.Outcome, any Error>
    ) -> [(SharedRequest.Waiter, Result<SharedRequest.Outcome, any Error>)] {
        guard !waiters.isEmpty else { return [] }
        var taken: [(SharedRequest.Waiter, Result<SharedRequest.Outcome, any Error>)] = []
        for number in waiters.keys.sorted() {
            if let waiter = waiters[number] ?? nil {
                taken.append((waiter, outcome()))
            } else {
                outcomes[number] = outcome()
            }
        }
        waiters = [:]
        return taken
    }
}

/// The response to a request that is sent for several callers.
struct SharedAnswer {
    var response: Response
    /// Whether callers other than the one who sent the request may have it.
    let isForAll: Bool
}
