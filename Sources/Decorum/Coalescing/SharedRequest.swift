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
        /// The next attempt comes after the deadline of the caller.
        case late
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

    private typealias Waiter = SharedRequestState.Waiter

    /// The number of the caller who came first.
    static let first = 0

    let key: SharedRequestKey
    /// The permission to store the response; once it is withdrawn, later callers need a later response.
    let ticket: StoreTicket
    private let settings: SharedRequestSettings
    /// The requests that this one is among, as long as a caller may join it.
    private weak let requests: SharedRequests?
    private let state = Mutex(SharedRequestState())

    init(
        _ key: SharedRequestKey, _ ticket: StoreTicket, _ settings: SharedRequestSettings,
        among requests: SharedRequests
    ) {
        self.key = key
        self.ticket = ticket
        self.settings = settings
        self.requests = requests
    }

    /// Joins; returns nil when it is too late.
    func join(_ options: borrowing RequestOptions) -> Joining? {
        guard ticket.isCurrent else { return nil }
        let limit = CallerLimit(options)
        return state.withLock { state in
            guard state.isOpen else { return nil }
            if state.hasOutcome { return state.response?.copy(isCoalesced: true).map { .responded($0) } }
            return state.join(limit).map { .waiting($0) } ?? .late
        }
    }

    /// Names the caller who is about to send the request, for one with a deadline or with callers of its own.
    func begin(as caller: SendingCaller) {
        state.withLock { $0.sending = caller }
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
        as number: Int, collecting sent: SentRequests, _ send: SharedRequests.Sending
    ) async throws -> SharedAnswer {
        state.withLock { $0.sent = sent }
        return try await withTaskCancellationHandler {
            do {
                return respond(try await send(ticket, self), sent, of: number)
            } catch {
                // Where the transport has ended all of its transfers, no other caller may send the request again.
                let isForAll = error is CancellationError ? !Task.isCancelled : sent.allowsSharing
                fail(error, isForAll: isForAll, of: number)
                throw error
            }
        } onCancel: {
            replaceSender(number)
        }
    }

    /// Waits until the request has a response or needs another caller to send it, and no longer than until a deadline.
    func outcome(for number: Int, until deadline: ContinuousClock.Instant?) async throws -> Outcome {
        let limit = deadline.map { JoinedCaller(self, number, $0) }
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
        if !state.withLock({ $0.leave(to: task) }) { task.cancel() }
    }

    private func wait(_ number: Int, _ waiter: Waiter) -> Result<Outcome, any Error>? {
        state.withLock { $0.wait(number, waiter) }
    }

    /// Ends the wait of a caller, if it still waits; the request goes on as long as another caller wants it.
    func leave(_ number: Int, with outcome: Result<Outcome, any Error>) {
        let (waiter, unwanted) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            guard let waiter = state.leave(number) else { return (nil, nil) }
            return (waiter, state.hasJoined ? nil : state.task.take())
        }
        unwanted?.cancel()
        waiter?.resume(with: outcome)
    }

    /// Gives the response to all callers if it is for all; returns that of the caller who sent the request.
    private func respond(_ answer: consuming SharedAnswer, _ sent: SentRequests, of number: Int) -> SharedAnswer {
        let (shared, outcomes, isClosed) = state.withLock {
            state -> (Response?, [(Waiter, Result<Outcome, any Error>)], Bool) in
            guard state.sender == number, !state.hasOutcome else { return (nil, [], false) }
            state.hasOutcome = true
            // A body that can be read again has no first reader, who would end the joining.
            let isOneTime = answer.response.body.replay == .once
            if !answer.isForAll || !isOneTime || !settings.isOpenAfterArrival { state.isOpen = false }
            guard answer.isForAll, state.isOpen || state.hasJoined else {
                return (nil, state.takeOutcomes { .success(.alone) }, true)
            }
            let shared = SharedResponse(answer.response, sent, settings) { [weak self] in self?.close() }
            let own = shared.copy(isCoalesced: false)
            if state.isOpen { state.response = shared }
            let outcomes = state.takeOutcomes {
                shared.copy(isCoalesced: true).map { .success(.shared($0)) } ?? .success(.alone)
            }
            return (own?.response, outcomes, !state.isOpen)
        }
        if let shared { answer.response = shared }
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
            guard let next = state.replaceSender() else {
                state.isOpen = false
                return (nil, true)
            }
            return (next, false)
        }
        waiter?.resume(returning: .send)
        if isClosed { requests?.remove(self) }
    }

    private func resume(_ outcomes: [(Waiter, Result<Outcome, any Error>)], isClosed: Bool) {
        if isClosed { requests?.remove(self) }
        for (waiter, outcome) in outcomes { waiter.resume(with: outcome) }
    }

    /// Closes the request for new callers.
    func close() {
        // A transfer may keep the request that it answers, which keeps this: the response must not keep the transfer.
        let response = state.withLock { state in
            state.isOpen = false
            return state.response.take()
        }
        requests?.remove(self)
        // The end of a transfer may need a lock of its own.
        withExtendedLifetime(response) {}
    }
}

extension SharedRequest: WaitingCallers {
    var lastDeadline: ContinuousClock.Instant? {
        // A layer further out has a lock of its own.
        let ends = state.withLock { $0.limits }.map(\.last)
        return ends.contains(nil) ? nil : ends.compactMap { $0 }.max()
    }

    /// The number of attempts that have ended.
    var attempts: Int { state.withLock { $0.attempts } }

    func willRetry(at instant: ContinuousClock.Instant?, after error: (any Error)?, attempts: Int) {
        let (limits, leaving) = state.withLock { state in
            state.attempts = attempts
            return (state.limits, state.hasOutcome ? nil : instant.map { state.beginPause(until: $0, after: error) })
        }
        if let leaving {
            resume(leaving.waiters, isClosed: false)
            leaving.sender?.wait?.deliver(.success(error.map { .failed($0) } ?? .alone))
        }
        for limit in limits { limit.willRetry(at: instant, after: error, attempts: attempts) }
    }
}

/// The response to a request that is sent for several callers.
struct SharedAnswer: Sendable {
    var response: Response
    /// Whether callers other than the one who sent the request may have it.
    let isForAll: Bool
}
