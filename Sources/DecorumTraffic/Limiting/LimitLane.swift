import Decorum
import HTTPTypes
import Synchronization

/// The requests within the same limits: those that wait and those on their way.
final class LimitLane: Sendable {
    /// What an arriving request gets.
    enum Entry {
        case permit(LimitPermit)
        case wait(LimitWaiter, WaitingQueue<LimitWaiter>.Place, ahead: Int)
        /// The lane was forgotten, and another one took its place.
        case isGone
    }

    private struct State {
        var admission: Admission
        var lastUse = Duration.zero
        var isGone = false
        /// The requests on their way, if they can be cancelled.
        var permits: [ObjectIdentifier: WeakPermit] = [:]
        /// Sleeps until the next request may begin.
        var alarm: Task<Void, Never>?
    }

    private struct WeakPermit {
        weak var permit: LimitPermit?
    }

    let key: TrafficKey
    let isSteered: Bool
    let isAdaptive: Bool
    private let time: LimitTime
    private let suspensions: LimitSuspensions
    private let spawner: any TaskSpawner
    private let state: Mutex<State>

    init(_ key: TrafficKey, in table: LimitTable) {
        let policy = table.policy
        let limits = policy.limits(of: key)
        if case .adaptive = limits.concurrency { isAdaptive = true } else { isAdaptive = false }
        (self.key, time, spawner) = (key, table.time, table.spawner)
        (suspensions, isSteered) = (table.suspensions, table.isSteered)
        state = Mutex(
            State(
                admission: Admission(limits, longestQueue: policy.longestQueue, longestWait: policy.boundedWait)))
    }

    deinit {
        state.withLock { $0.alarm?.cancel() }
    }

    /// Lets a request go if there is a place and none waits; nil if it has to enter.
    func permitAtOnce(_ group: RequestGroup?, isDeferred: Bool, at now: Duration) -> LimitPermit? {
        guard !suspensions.contains(group) else { return nil }
        return state.withLock { state in
            guard !state.isGone, state.admission.goesAtOnce(group, isDeferred: isDeferred, at: now) else { return nil }
            return permit(group, at: now, &state)
        }
    }

    func enter(_ waiter: LimitWaiter, at now: Duration) throws(LimitError) -> Entry {
        let isSuspended = suspensions.contains(waiter.ticket.group)
        let entry: Result<Entry, LimitError> = state.withLock { state in
            guard !state.isGone else { return .success(.isGone) }
            switch state.admission.arrive(waiter, isSuspended: isSuspended, at: now) {
            case .goes: return .success(.permit(permit(waiter.ticket.group, at: now, &state)))
            case .waits(let place, let displaced):
                let ahead = state.admission.waiting - 1
                displaced?.wait.deliver(.failure(error(.displaced, in: state, at: now)))
                admitWaiting(&state, at: now)
                return .success(.wait(waiter, place, ahead: ahead))
            case .isRefused(let reason, let wait):
                return .failure(error(reason, in: state, wait: wait, at: now))
            }
        }
        return try entry.get()
    }

    /// Lets a request go that waits no longer.
    func leave(_ waiter: LimitWaiter, from place: WaitingQueue<LimitWaiter>.Place) {
        state.withLock { state in
            state.admission.leave(waiter, from: place)
            if state.admission.waiting == 0 { state.alarm.take()?.cancel() }
        }
    }

    func note(_ sample: AdaptiveLimit.Sample, at now: Duration) {
        state.withLock { state in
            state.admission.note(sample, at: now)
            if state.admission.waiting > 0 { admitWaiting(&state, at: now) }
        }
    }

    /// Takes a permit back, and lets those through for whom there is a place now.
    func end(_ permit: borrowing LimitPermit, noting sample: AdaptiveLimit.Sample?, at now: Duration?) {
        let now = now ?? time.now
        state.withLock { state in
            if isSteered { state.permits[permit.id] = nil }
            if let sample { state.admission.note(sample, at: now) }
            state.admission.end(permit.group, after: now - permit.start)
            state.lastUse = now
            if state.admission.waiting > 0 { admitWaiting(&state, at: now) }
        }
    }

    /// Lets requests through after a suspension.
    func resume() {
        let now = time.now
        state.withLock { state in
            state.admission.unpark()
            admitWaiting(&state, at: now)
        }
    }

    /// Ends all requests of a group, or all.
    func cancelAll(of group: RequestGroup?, because words: String) {
        let now = time.now
        let permits = state.withLock { state in
            var failure = error(.cancelled, in: state, at: now)
            failure.words = words
            for waiter in state.admission.removeAll(of: group) { waiter.wait.deliver(.failure(failure)) }
            state.alarm.take()?.cancel()
            return state.permits.values.compactMap { $0.permit }.filter { group == nil || $0.group == group }
        }
        for permit in permits { permit.cancel(because: words) }
    }

    /// Forgets the lane if nothing goes on in it; returns whether it has done so.
    func retire() -> Bool {
        state.withLock { state in
            state.isGone = state.admission.running == 0 && state.admission.waiting == 0
            return state.isGone
        }
    }

    var lastUse: Duration { state.withLock { $0.lastUse } }

    /// Adds the counts of the lane to a view of all lanes.
    func add(to snapshot: inout RequestLimiter.Snapshot) {
        state.withLock { state in
            let admission = state.admission
            var waiting: [RequestGroup: Int] = [:]
            for group in admission.waiters.compactMap(\.ticket.group) { waiting[group, default: 0] += 1 }
            snapshot.add(
                .init(
                    name: key.description, waiting: admission.waiting, running: admission.running,
                    concurrency: admission.places == .max ? nil : admission.places), waiting, admission.runningByGroup)
        }
    }

    func error(_ reason: LimitError.Reason) -> LimitError {
        let now = time.now
        return state.withLock { error(reason, in: $0, at: now) }
    }

    private func error(
        _ reason: LimitError.Reason, in state: borrowing State, wait: Duration? = nil, at now: Duration
    ) -> LimitError {
        LimitError(
            reason, of: key, waiting: state.admission.waiting, running: state.admission.running, wait: wait,
            at: time.start.advanced(by: now))
    }

    private func permit(
        _ group: RequestGroup?, at now: Duration, _ state: inout State
    ) -> LimitPermit {
        let permit = LimitPermit(in: self, of: group, from: now, running: state.admission.running)
        if isSteered { state.permits[permit.id] = WeakPermit(permit: permit) }
        return permit
    }

    private func admitWaiting(_ state: inout State, at now: Duration) {
        guard !suspensions.containsAll else { return }
        let suspensions = suspensions
        while true {
            var refused: [LimitWaiter] = []
            let next = state.admission.takeNext(
                at: now, isSuspended: { suspensions.contains($0) }, refuse: { refused.append($0) })
            for waiter in refused { waiter.wait.deliver(.failure(error(.tooLate, in: state, at: now))) }
            guard let next else { break }
            let permit = permit(next.ticket.group, at: now, &state)
            if next.wait.deliver(.success(permit)) != nil {
                permit.void()
                state.permits[permit.id] = nil
                state.admission.undo(next.ticket.group)
            }
        }
        setAlarm(&state, at: now)
    }

    /// Sees to the next turn, if requests wait for the rate.
    private func setAlarm(_ state: inout State, at now: Duration) {
        guard state.alarm == nil, let next = state.admission.nextToken(at: now) else { return }
        let instant = time.start.advanced(by: next)
        state.alarm = spawner.spawn { [weak self, clock = time.clock] in
            do { try await clock.sleep(until: instant, tolerance: nil) } catch { return }
            self?.ring()
        }
    }

    private func ring() {
        let now = time.now
        state.withLock { state in
            state.alarm = nil
            admitWaiting(&state, at: now)
        }
    }
}

/// The right of one request to be on its way; it is given back when it is dropped at the latest.
final class LimitPermit: Sendable {
    private struct Steering {
        var task: Task<Response, any Error>?
        var words: String?
    }

    let lane: LimitLane
    let group: RequestGroup?
    let start: Duration
    /// The number of requests that were on their way with this one when it began.
    let running: Int
    private let isReturned = Atomic(false)
    private let steering = Mutex(Steering())

    init(in lane: LimitLane, of group: RequestGroup?, from start: Duration, running: Int) {
        (self.lane, self.group, self.start, self.running) = (lane, group, start, running)
    }

    deinit { giveBack() }

    var id: ObjectIdentifier { ObjectIdentifier(self) }

    /// Gives the place to the next request; once only, however often it is called.
    func giveBack(noting sample: AdaptiveLimit.Sample? = nil, at now: Duration? = nil) {
        guard !isReturned.exchange(true, ordering: .relaxed) else { return }
        lane.end(self, noting: sample, at: now)
    }

    /// Ends a permit that its request did not take.
    func void() { isReturned.store(true, ordering: .relaxed) }

    /// The outcome of the request, for the limit that follows the latency.
    func sample(_ outcome: AdaptiveLimit.Outcome, at now: Duration) -> AdaptiveLimit.Sample {
        AdaptiveLimit.Sample(start: start, latency: now - start, running: running, outcome: outcome)
    }

    /// The reason for which the limiter has cancelled the request; nil if it has not.
    var words: String? { steering.withLock { $0.words } }

    func run(_ task: Task<Response, any Error>) {
        let isCancelled = steering.withLock { steering in
            steering.task = task
            return steering.words != nil
        }
        if isCancelled { task.cancel() }
    }

    /// Lets the task go, whose response would keep the transfer.
    func finishRun() { steering.withLock { $0.task = nil } }

    func cancel(because words: String) {
        let task = steering.withLock { steering in
            steering.words = steering.words ?? words
            return steering.task
        }
        task?.cancel()
    }

    /// The error of a request that the limiter has cancelled on its way; nil if it has not.
    var cancellation: LimitError? {
        guard let words else { return nil }
        var error = lane.error(.cancelled)
        (error.words, error.wasSent) = (words, true)
        return error
    }
}
