import Decorum
import Synchronization

/// The requests within the same limits: those that wait and those on their way.
final class LimitLane: KeyedState {
    private struct State {
        var admission: Admission
        /// The requests on their way, if they can be cancelled.
        var steered: [ObjectIdentifier: SteeredRequest] = [:]
        /// Sleeps until the next request may begin; the task is nil while it is being started.
        var alarm: (time: Duration, task: Task<Void, Never>?)?
    }

    let key: TrafficKey
    let rule: LimitRule
    let isAdaptive: Bool
    private let state: Mutex<State>

    init(_ key: TrafficKey, under rule: LimitRule) {
        (self.key, self.rule, isAdaptive) = (key, rule, rule.policy.limits(of: key).isAdaptive)
        state = Mutex(
            State(admission: Admission(key, in: rule.policy, since: rule.start, sharedBy: rule.sharing?.machines)))
    }

    var mustStay: Bool { state.withLock { $0.admission.running + $0.admission.waiting > 0 } }

    /// Lets a request go if there is a place and none waits; nil if it has to wait for its turn.
    func permitAtOnce(for options: borrowing RequestOptions) -> LimitPermit? {
        let group = options.group
        guard !rule.isSuspended(group) else { return nil }
        let (now, isDeferred) = (rule.now, options.deferral.map { $0 > .zero } ?? false)
        return state.withLock { state in
            let waiting = state.admission.waiting
            guard state.admission.isFree(isDeferred: isDeferred, behind: waiting, at: now) else { return nil }
            let permit = LimitPermit(in: self, of: group, from: now)
            begin(permit, &state)
            return permit
        }
    }

    /// Waits for the permit of a request that did not go at once.
    @inline(never) func turn(for options: RequestOptions) async throws -> LimitPermit {
        do {
            if let deferral = options.deferral, deferral > .zero {
                if let permit = try await permit(for: options, -1, within: deferral.bounded) { return permit }
            }
            let priority = options.priority ?? .medium
            if let permit = try await permit(for: options, Int(priority.rawValue)) { return permit }
            throw state.withLock { [now = rule.now] in $0.admission.error(.timeOver, at: now) }
        } catch let error as LimitError {
            options.callContext?.note(CallDecision(.givesUp, by: "limiting", "not sent: \(error.reason)"))
            throw error
        }
    }

    /// Waits for a permit; returns nil if the time is over.
    private func permit(
        for options: RequestOptions, _ priority: Int, within deferral: Duration = .longest
    ) async throws -> LimitPermit? {
        let now = rule.now
        let deadline = options.timeLeft(at: rule.start + now).map { now + $0 }
        let limit = min(deadline ?? now + rule.policy.boundedWait, now + deferral)
        let waiter = LimitWaiter(
            group: options.group, priority: priority, deadline: deadline, limit: limit,
            wait: LimitedWait(until: rule.start + limit))
        let (number, ahead) = try enter(waiter, at: now)
        defer { leave(number) }
        if let ahead {
            let words = "waits for its turn at the limits of \(key), behind \(ahead)"
            options.callContext?.note(CallDecision(.waits, by: "limiting", words))
        }
        let permit = try await waiter.wait.value(watchedBy: rule.watch, orCancel: {})
        guard Task.isCancelled else { return permit }
        permit?.giveBack()
        throw CancellationError()
    }

    /// Lets a request wait; `ahead` is nil if its turn came at once.
    private func enter(_ waiter: LimitWaiter, at now: Duration) throws(LimitError) -> (number: Int, ahead: Int?) {
        var admitted = Admitted()
        defer { finish(admitted) }
        return try state.withLock { state throws(LimitError) in
            let (number, displaced) = try state.admission.arrive(waiter, at: now, isSuspended: rule.isSuspended)
            let failure = displaced.map { ($0, state.admission.error(.queueFull, at: now)) }
            let ahead = state.admission.waiting - 1
            admitted = admitWaiting(&state, at: now)
            if let failure { admitted.failures.append(failure) }
            return (number, state.admission.queue.elements[number] == nil ? nil : ahead)
        }
    }

    /// Lets a request go that waits no longer.
    private func leave(_ number: Int) {
        state.withLock { state in
            state.admission.queue.remove(number)
            if state.admission.waiting == 0 { state.alarm.take()?.task?.cancel() }
        }
    }

    /// Notes what became of a request, and lets those through for whom there is a place now.
    func note(_ outcome: AdaptiveLimit.Outcome?, of permit: borrowing LimitPermit, isEnd: Bool, at now: Duration) {
        let admitted = state.withLock { state -> Admitted? in
            if let outcome { state.admission.note(outcome, since: permit.start, at: now) }
            if isEnd {
                if let steered = permit.steered { state.steered[ObjectIdentifier(steered)] = nil }
                state.admission.end(since: permit.start, at: now)
            }
            return state.admission.waiting > 0 ? admitWaiting(&state, at: now) : nil
        }
        if let admitted { finish(admitted) }
    }

    /// Lets those through for whom there is a place now, after a suspension or when the rate allows the next one.
    func admitWaiting() {
        let now = rule.now
        let admitted = state.withLock { state in
            state.alarm.take()?.task?.cancel()
            return admitWaiting(&state, at: now)
        }
        finish(admitted)
    }

    /// Ends all requests of a group, or all.
    func cancelAll(of group: RequestGroup?, because words: String) {
        let now = rule.now
        let (steered, waiters, failure) = state.withLock { state in
            var failure = state.admission.error(.cancelled, at: now)
            failure.words = words
            return (
                state.steered.values.filter { group == nil || $0.group == group },
                state.admission.queue.removeAll(of: group), failure
            )
        }
        for waiter in waiters { waiter.wait.deliver(.failure(failure)) }
        var sent = failure
        sent.wasSent = true
        for request in steered { request.cancel(because: sent) }
    }

    /// Adds the numbers of the lane to a view of all lanes.
    func add(to snapshot: inout RequestLimiter.Snapshot) {
        state.withLock { state in
            let admission = state.admission
            snapshot.limits[key, default: .init()].waiting += admission.waiting
            snapshot.limits[key, default: .init()].running += admission.running
            snapshot.limits[key]?.concurrency = admission.places == .max ? nil : admission.places
            for case (_, _, let group?) in admission.queue.elements.values {
                snapshot.groups[group, default: .init()].waiting += 1
            }
            for group in state.steered.values.compactMap(\.group) {
                snapshot.groups[group, default: .init()].running += 1
            }
        }
    }

    private func begin(_ permit: LimitPermit, _ state: inout State) {
        if let steered = permit.steered { state.steered[ObjectIdentifier(steered)] = steered }
        state.admission.begin(at: permit.start)
    }

    private func undo(_ permit: LimitPermit, _ state: inout State) {
        permit.void()
        if let steered = permit.steered { state.steered[ObjectIdentifier(steered)] = nil }
        state.admission.undo()
    }

    /// Lets those through for whom there is a place now.
    private func admitWaiting(_ state: inout State, at now: Duration) -> Admitted {
        var admitted = Admitted(asked: state.admission.ask(at: now, isSuspended: rule.isSuspended))
        while let (waiter, isTooLate) = state.admission.takeNext(at: now, isSuspended: rule.isSuspended) {
            guard !isTooLate else {
                admitted.failures.append((waiter, state.admission.error(.tooLate, at: now)))
                continue
            }
            let permit = LimitPermit(in: self, of: waiter.group, from: now)
            begin(permit, &state)
            admitted.permits.append((waiter, permit))
        }
        admitted.asked = admitted.asked ?? state.admission.ask(at: now, isSuspended: rule.isSuspended)
        if state.alarm == nil, let next = state.admission.nextToken(at: now) {
            state.alarm = (next, nil)
            admitted.alarm = next
        }
        return admitted
    }

    /// Does what must not be done under the lock: a cancellation that holds the task of a caller may wait for the lock, the work
    /// of a task may begin at once, and a permit may be dropped.
    private func finish(_ admitted: Admitted) {
        var admitted = admitted
        // Each turn gives the places of callers who have left meanwhile to the next ones.
        while true {
            for (waiter, error) in admitted.failures { waiter.wait.deliver(.failure(error)) }
            let left = admitted.permits.filter { waiter, permit in waiter.wait.deliver(.success(permit)) != nil }
            if let time = admitted.alarm { setAlarm(at: time) }
            if let count = admitted.asked { ask(for: count) }
            guard !left.isEmpty else { return }
            let now = rule.now
            admitted = state.withLock { state in
                for (_, permit) in left { undo(permit, &state) }
                return admitWaiting(&state, at: now)
            }
        }
    }

    /// Asks the storage of all machines for tokens.
    private func ask(for count: Int) {
        guard let sharing = rule.sharing, let rate = rule.policy.limits(of: key).rate else { return }
        let (now, window) = (rule.now, RateWindow(of: rate, at: rule.watch.clock.date))
        let asked = min(count, window.quota)
        rule.spawner.spawn { [weak self, key] in
            let sum = asked > 0 ? await sharing.add(asked, key, window) : 0
            self?.note(sum, after: asked, of: window, until: now + window.rest)
        }
    }

    private func note(_ sum: Int64?, after asked: Int, of window: RateWindow, until end: Duration) {
        let now = rule.now
        state.withLock { $0.admission.shared?.note(sum, after: asked, of: window, until: end, at: now) }
        admitWaiting()
    }

    private func setAlarm(at time: Duration) {
        let task = rule.spawner.spawn { [weak self, clock = rule.watch.clock, instant = rule.start + time] in
            do { try await clock.sleep(until: instant, tolerance: nil) } catch { return }
            self?.admitWaiting()
        }
        let needless = state.withLock { state -> Task<Void, Never>? in
            guard let alarm = state.alarm, alarm.time == time else { return task }
            state.alarm = (time, task)
            return alarm.task
        }
        needless?.cancel()
    }
}

/// The requests that were let through, and the time at which the rate allows the next one.
private struct Admitted {
    var permits: [(LimitWaiter, LimitPermit)] = []
    var failures: [(LimitWaiter, LimitError)] = []
    var alarm: Duration?
    /// The number of tokens to ask the storage of all machines for.
    var asked: Int?
}

/// The right of one request to be on its way; it is given back when it is dropped at the latest.
final class LimitPermit: Sendable {
    let lane: LimitLane
    /// What cancels the request; nil unless a limiter may do so.
    let steered: SteeredRequest?
    let start: Duration
    private let isReturned = Atomic(false)

    init(in lane: LimitLane, of group: RequestGroup?, from start: Duration) {
        (self.lane, self.start) = (lane, start)
        steered = lane.rule.suspensions == nil ? nil : SteeredRequest(of: group)
    }

    deinit { giveBack() }

    /// Gives the place to the next request; once only, however often it is called.
    func giveBack(noting outcome: AdaptiveLimit.Outcome? = nil, at now: Duration? = nil) {
        guard !isReturned.exchange(true, ordering: .relaxed) else { return }
        lane.note(outcome, of: self, isEnd: true, at: now ?? lane.rule.now)
    }

    /// Ends a permit that its request did not take.
    func void() { isReturned.store(true, ordering: .relaxed) }
}

/// A request on its way that its limiter can cancel.
final class SteeredRequest: Sendable {
    let group: RequestGroup?
    private let state = Mutex((task: Task<Response, any Error>?.none, error: LimitError?.none))

    init(of group: RequestGroup?) { self.group = group }

    func cancel(because error: LimitError) {
        let task = state.withLock { state in
            state.error = state.error ?? error
            return state.task
        }
        task?.cancel()
    }

    func checkCancellation() throws(LimitError) {
        if let error = state.withLock({ $0.error }) { throw error }
    }

    /// Sends the request in a task that the limiter can cancel.
    func response(by send: @escaping @Sendable () async throws -> Response) async throws -> Response {
        let task = Task { try await send() }
        let isCancelled = state.withLock { state in
            state.task = task
            return state.error != nil
        }
        if isCancelled { task.cancel() }
        // The task would keep the response, and so its transfer.
        defer { _ = state.withLock { $0.task.take() } }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        try checkCancellation()
        return try result.get()
    }
}
