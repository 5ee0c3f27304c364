import Decorum

/// What decides about the turn of a request.
struct LimitTicket: Sendable {
    /// The priority of requests that wait until nothing else does.
    static let deferredPriority = -1

    let group: RequestGroup?
    let priority: Int
    /// The end of the time of the whole request; nil without one.
    let deadline: Duration?
    /// The end of the time to wait.
    let limit: Duration

    var isDeferred: Bool { priority == Self.deferredPriority }
}

/// A request that waits for its turn.
final class LimitWaiter: Sendable {
    let ticket: LimitTicket
    let wait: LimitedWait<LimitPermit>

    /// Creates the wait of a ticket whose times count from an instant.
    init(_ ticket: LimitTicket, from start: ContinuousClock.Instant) {
        self.ticket = ticket
        wait = LimitedWait(until: start.advanced(by: ticket.limit))
    }
}

/// The requests that may begin in a time (token bucket).
struct TokenBucket: Sendable {
    private let interval: Double
    private let burst: Double
    private var tokens: Double
    private var last: Duration?

    init(_ rate: Limits.Rate) {
        interval = rate.period.bounded / .seconds(1) / Double(max(rate.requests, 1))
        burst = Double(max(rate.burst, 1))
        tokens = burst
    }

    /// The seconds until a number of tokens are there, none of which is taken before.
    mutating func wait(for count: Int, at now: Duration) -> Double {
        tokens = min(burst, tokens + max(0, (now - (last ?? now)) / .seconds(1)) / interval)
        last = now
        // Sums of parts of a token fall a little short of one, by the nanosecond that is cut off from each time.
        let wait = (Double(count) - tokens) * interval
        return wait < 1e-6 ? 0 : wait
    }

    mutating func take(_ count: Double = 1) { tokens -= count }
}

/// The decision which requests within the same limits are sent now: the state of the limits, without a clock and tasks.
struct Admission {
    /// What becomes of a request that arrives.
    enum Arrival {
        case goes
        /// It waits, perhaps in place of a less important request.
        case waits(WaitingQueue<LimitWaiter>.Place, displacing: LimitWaiter?)
        case isRefused(LimitError.Reason, wait: Duration?)
    }

    let limits: Limits
    let longestQueue: Int
    let longestWait: Duration
    private(set) var running = 0
    /// The number of requests that may be on their way; `Int.max` for any number.
    private(set) var places: Int
    private(set) var queue = WaitingQueue<LimitWaiter>()
    /// The requests of groups that are suspended.
    private(set) var parked: [LimitWaiter] = []
    private(set) var runningByGroup: [RequestGroup: Int] = [:]
    /// The places of requests that wait again after the suspension of their group.
    private var newPlaces: [ObjectIdentifier: WaitingQueue<LimitWaiter>.Place] = [:]
    private var bucket: TokenBucket?
    private var adaptive: AdaptiveLimit?
    /// The seconds in which nine of ten requests get the head of a response, and the mean of those for which a request counts.
    private var headTime: Double?
    private var holdTime: Double?

    init(_ limits: Limits, longestQueue: Int, longestWait: Duration) {
        (self.limits, self.longestQueue, self.longestWait) = (limits, longestQueue, longestWait)
        bucket = limits.rate.map { TokenBucket($0) }
        switch limits.letNothingPass ? .fixed(0) : limits.concurrency {
        case .fixed(let count): places = count
        case .adaptive(let range):
            let limit = AdaptiveLimit(range)
            (adaptive, places) = (limit, limit.current)
        case nil: places = .max
        }
    }

    var waiting: Int { queue.count + parked.count }

    var waiters: [LimitWaiter] { queue.elements + parked }

    /// Lets a request go for which there is a place while none waits; returns whether it goes.
    mutating func goesAtOnce(_ group: RequestGroup?, isDeferred: Bool, at now: Duration) -> Bool {
        guard queue.isEmpty, !isDeferred || running == 0, running < places, bucket == nil || hasPlace(at: now) else {
            return false
        }
        begin(group)
        return true
    }

    mutating func arrive(_ waiter: LimitWaiter, isSuspended: Bool, at now: Duration) -> Arrival {
        guard !limits.letNothingPass else { return .isRefused(.closed, wait: nil) }
        let ticket = waiter.ticket
        let ahead = queue.count(from: ticket.priority)
        if !isSuspended, ahead == 0, !ticket.isDeferred || running == 0, hasPlace(at: now) {
            begin(ticket.group)
            return .goes
        }
        let wait = isSuspended ? nil : expectedWait(behind: ahead, at: now)
        guard ticket.limit > now else { return .isRefused(.timeOver, wait: wait) }
        if let wait, running > 0 || ahead > 0 {
            let answer = ticket.deadline.map { now + wait + .seconds(headTime ?? 0) <= $0 } ?? (wait <= longestWait)
            guard answer else { return .isRefused(.tooLate, wait: wait) }
        }
        var displaced: LimitWaiter?
        if waiting >= longestQueue {
            guard let lowest = queue.lowestPriority, lowest < ticket.priority else {
                return .isRefused(.queueFull, wait: wait)
            }
            displaced = queue.takeLeastImportant()
        }
        return .waits(queue.append(waiter, priority: ticket.priority), displacing: displaced)
    }

    /// Takes the next request that may be sent now, which then counts as on its way; nil if none may.
    ///
    /// The requests of suspended groups stay. `refuse` gets those that would not be answered in their time.
    mutating func takeNext(
        at now: Duration, isSuspended: (RequestGroup?) -> Bool, refuse: (LimitWaiter) -> Void
    ) -> LimitWaiter? {
        while !queue.isEmpty, hasPlace(at: now) {
            let isIdle = running == 0 && queue.count(from: 0) == 0
            guard let waiter = queue.takeNext(from: isIdle ? LimitTicket.deferredPriority : 0) else { return nil }
            if isSuspended(waiter.ticket.group) {
                parked.append(waiter)
            } else if running > 0, let deadline = waiter.ticket.deadline, now + .seconds(headTime ?? 0) > deadline {
                // With nothing on its way, it is sent, since only its answer shows whether the server is faster by now.
                refuse(waiter)
            } else {
                begin(waiter.ticket.group)
                return waiter
            }
        }
        return nil
    }

    /// Removes a request that no longer waits; it may have gone already.
    mutating func leave(_ waiter: LimitWaiter, from place: WaitingQueue<LimitWaiter>.Place) {
        guard queue.remove(newPlaces.removeValue(forKey: ObjectIdentifier(waiter)) ?? place) == nil else { return }
        parked.removeAll { $0 === waiter }
    }

    /// Removes the waiting requests of a group, or all.
    mutating func removeAll(of group: RequestGroup?) -> [LimitWaiter] {
        let isRemoved = { (waiter: LimitWaiter) in group == nil || waiter.ticket.group == group }
        defer { parked.removeAll(where: isRemoved) }
        return queue.removeAll(where: isRemoved) + parked.filter(isRemoved)
    }

    /// Lets the requests of groups that were suspended wait for their turn again.
    mutating func unpark() {
        for waiter in parked {
            newPlaces[ObjectIdentifier(waiter)] = queue.append(waiter, priority: waiter.ticket.priority)
        }
        parked = []
    }

    /// The time at which a waiting request may be sent, if it waits for the rate alone.
    mutating func nextToken(at now: Duration) -> Duration? {
        guard !queue.isEmpty, running < places, let wait = bucket?.wait(for: 1, at: now), wait > 0 else { return nil }
        return now + .seconds(min(wait, 1e9))
    }

    private mutating func hasPlace(at now: Duration) -> Bool {
        running < places && (bucket == nil || bucket?.wait(for: 1, at: now) == 0)
    }

    private mutating func expectedWait(behind ahead: Int, at now: Duration) -> Duration? {
        let turns = Double(ahead + 1)
        let byPlace = places == .max ? nil : holdTime.map { $0 * turns / Double(max(places, 1)) }
        let wait = [byPlace, bucket?.wait(for: ahead + 1, at: now)].compactMap { $0 }.max()
        return wait.map { Duration.seconds(min($0, 1e9)) }
    }

    private mutating func begin(_ group: RequestGroup?) {
        running += 1
        bucket?.take()
        if let group { runningByGroup[group, default: 0] += 1 }
    }

    /// Undoes the begin of a request that is not sent after all.
    mutating func undo(_ group: RequestGroup?) {
        bucket?.take(-1)
        end(group)
    }

    private mutating func end(_ group: RequestGroup?) {
        running -= 1
        guard let group, let count = runningByGroup[group] else { return }
        runningByGroup[group] = count > 1 ? count - 1 : nil
    }

    /// Notes that a request no longer counts as on its way.
    mutating func end(_ group: RequestGroup?, after time: Duration) {
        end(group)
        let seconds = time.inSeconds
        holdTime = holdTime.map { $0 + 0.1 * (seconds - $0) } ?? seconds
    }

    /// Notes the outcome of a request: the head of its response, or a failure of the server.
    mutating func note(_ sample: AdaptiveLimit.Sample, at now: Duration) {
        if let limit = adaptive?.note(sample, at: now) { places = limit }
        // Steps of which nine downwards outweigh one upwards lead to the time that one of ten exceeds.
        let seconds = max(sample.latency.inSeconds, 1e-6)
        headTime = headTime.map { seconds > $0 ? min(seconds, $0 * 1.09) : max(seconds, $0 / 1.01) } ?? seconds
    }
}
