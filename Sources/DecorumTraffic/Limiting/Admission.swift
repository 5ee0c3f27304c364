import Decorum
import Foundation

/// A request that waits for its turn; its times count from the start of its limiter.
struct LimitWaiter: Sendable {
    let group: RequestGroup?
    /// Its priority; below zero for a request that waits until nothing else does.
    let priority: Int
    /// The end of the time of the whole request; nil without one.
    let deadline: Duration?
    /// The end of the time to wait.
    let limit: Duration
    let wait: LimitedWait<LimitPermit>
}

/// The decision which requests within the same limits are sent now: the state of the limits, without a clock and tasks.
struct Admission {
    private let key: TrafficKey
    private let policy: LimitPolicy
    private let start: ContinuousClock.Instant
    private(set) var running = 0
    /// The number of requests that may be on their way; `Int.max` for any number.
    private(set) var places: Int
    var queue = WaitingQueue<LimitWaiter>()
    /// The seconds from one token to the next, and the number of tokens in a full bucket; nil without a rate.
    private let rate: (interval: Double, tokens: Double)?
    /// The second at which the bucket is full again.
    private var full = 0.0
    /// The tokens of a rate that several machines share; `rate` is the share of this machine then.
    var shared: SharedTokens?
    private var adaptive: AdaptiveLimit?
    /// The seconds in which nine of ten requests get the head of a response, and the mean of those for which a request counts.
    private var headTime: Double?
    private var holdTime: Double?

    /// Creates the state of the limits of a key, whose times count from an instant.
    init(
        _ key: TrafficKey, in policy: LimitPolicy, since start: ContinuousClock.Instant, sharedBy machines: Int? = nil
    ) {
        (self.key, self.policy, self.start) = (key, policy, start)
        let limits = policy.limits(of: key)
        let window = machines == nil ? nil : limits.rate.map { RateWindow(of: $0, at: .distantPast) }
        shared = window.map { SharedTokens($0) }
        rate = limits.rate.map { rate in
            let (tokens, share) = (Double(max(rate.requests, 1)), Double(machines ?? 1))
            let interval = rate.period.bounded / .seconds(1) / tokens * share
            return (interval, window.map { max($0.mean / share, 1) } ?? tokens)
        }
        switch limits.letNothingPass ? .fixed(0) : limits.concurrency {
        case .fixed(let count): places = count
        case .adaptive(let range):
            let limit = AdaptiveLimit(range)
            (adaptive, places) = (limit, limit.current)
        case nil: places = .max
        }
    }

    var waiting: Int { queue.count }

    /// Whether a request may go now, behind a number of others.
    func isFree(isDeferred: Bool, behind ahead: Int, at now: Duration) -> Bool {
        ahead == 0 && (!isDeferred || running == 0) && hasPlace(at: now) && shared?.isUnknown(at: now) != true
    }

    func error(_ reason: LimitError.Reason, wait: Duration? = nil, at now: Duration) -> LimitError {
        LimitError(
            reason: reason, key: key.description, waiting: waiting, running: running, wait: wait,
            earliestRetry: wait.map { start + now + $0 })
    }

    /// Lets a request wait under a number, even if it can go now, perhaps in place of a less important one.
    mutating func arrive(
        _ waiter: LimitWaiter, at now: Duration, isSuspended: (RequestGroup?) -> Bool
    ) throws(LimitError) -> (number: Int, displaced: LimitWaiter?) {
        guard places > 0 else { throw error(.closed, at: now) }
        let isHeld = isSuspended(waiter.group)
        let ahead = queue.count(from: waiter.priority, without: isSuspended)
        var displaced: LimitWaiter?
        if isHeld || !isFree(isDeferred: waiter.priority < 0, behind: ahead, at: now) {
            let wait = isHeld ? nil : expectedWait(behind: ahead, at: now)
            guard waiter.limit > now else { throw error(.timeOver, wait: wait, at: now) }
            if let wait {
                let end = now + wait + .seconds(running + ahead > 0 ? headTime ?? 0 : 0)
                let isInTime = waiter.deadline.map { end <= $0 } ?? (wait <= policy.boundedWait)
                guard isInTime else { throw error(.tooLate, wait: wait, at: now) }
            }
            // Suspended requests take no place of others, and others take none of theirs.
            func isElsewhere(_ group: RequestGroup?) -> Bool { isSuspended(group) != isHeld }
            if queue.count(from: .min, without: isElsewhere) >= policy.longestQueue {
                displaced = queue.takeLeastImportant(below: waiter.priority, without: isElsewhere)
                guard displaced != nil else { throw error(.queueFull, wait: wait, at: now) }
            }
        }
        return (queue.append(waiter, priority: waiter.priority, group: waiter.group), displaced)
    }

    /// Takes the next request that may be sent now, or would be if it were not too late for an answer in its time.
    mutating func takeNext(
        at now: Duration, isSuspended: (RequestGroup?) -> Bool
    ) -> (waiter: LimitWaiter, isTooLate: Bool)? {
        guard waiting > 0, hasPlace(at: now) else { return nil }
        let isIdle = running == 0 && queue.count(from: 0, without: isSuspended) == 0
        guard let waiter = queue.takeNext(from: isIdle ? .min : 0, without: isSuspended) else { return nil }
        let isTooLate = running > 0 && waiter.deadline.map { now + .seconds(headTime ?? 0) > $0 } ?? false
        return (waiter, isTooLate)
    }

    /// Notes that a request is on its way.
    mutating func begin(at now: Duration) {
        running += 1
        adaptive?.begin(running)
        shared?.take()
        if let rate, shared?.isShare ?? true { full = max(full, now / .seconds(1)) + rate.interval }
    }

    /// The number of tokens that the storage of all machines has to be asked for now.
    mutating func ask(at now: Duration, isSuspended: (RequestGroup?) -> Bool) -> Int? {
        guard shared?.isUnknown(at: now) == true, running < places else { return nil }
        let count = queue.count(from: 0, without: isSuspended)
        let deferred = running + count == 0 ? min(1, queue.count(from: .min, without: isSuspended)) : 0
        guard count + deferred > 0 else { return nil }
        shared?.ask(at: now)
        return min(count + deferred, places - running)
    }

    /// Takes the begin of a request back that is not sent.
    mutating func undo() {
        running -= 1
        if let rate, shared == nil { full -= rate.interval }
    }

    /// The time at which a waiting request may be sent, if it waits for the rate alone.
    func nextToken(at now: Duration) -> Duration? {
        let wait = tokenWait(1, at: now)
        guard waiting > 0, running < places, wait > 0 else { return nil }
        let token = now + .seconds(min(wait, 1e9))
        return shared?.nextTrial(after: now).map { min($0, token) } ?? token
    }

    private func hasPlace(at now: Duration) -> Bool {
        running < places && shared?.isFree(at: now) ?? (tokenWait(1, at: now) == 0)
    }

    /// The seconds until the rate allows a number of requests.
    private func tokenWait(_ count: Int, at now: Duration) -> Double {
        guard let rate else { return 0 }
        if let wait = shared?.wait(for: count, at: now) { return wait }
        let wait = max(0, full - now / .seconds(1)) + (Double(count) - rate.tokens) * rate.interval
        // A sum of parts of a second may be a little more than the second that was waited for.
        return wait < 1e-6 ? 0 : wait
    }

    private func expectedWait(behind ahead: Int, at now: Duration) -> Duration? {
        let turns = Double(ahead + 1)
        // With nothing on its way, a request is sent, since only its answer shows whether the server is faster by now.
        let isByPlace = places < .max && running + ahead > 0
        let byPlace = isByPlace ? holdTime.map { $0 * turns / Double(max(places, 1)) } : nil
        let wait = [byPlace, rate == nil ? nil : tokenWait(ahead + 1, at: now)].compactMap { $0 }.max()
        return wait.map { Duration.seconds(min($0, 1e9)) }
    }

    /// Notes that a request no longer counts as on its way.
    mutating func end(since start: Duration, at now: Duration) {
        running -= 1
        let seconds = (now - start).inSeconds
        holdTime = holdTime.map { $0 + 0.1 * (seconds - $0) } ?? seconds
    }

    /// Notes the head of a response, or a failure of the server.
    mutating func note(_ outcome: AdaptiveLimit.Outcome, since start: Duration, at now: Duration) {
        // Steps of which nine downwards outweigh one upwards lead to the time that one of ten exceeds.
        let seconds = max((now - start).inSeconds, 1e-6)
        var usual = headTime.map { seconds > $0 ? min(seconds, $0 * 1.09) : max(seconds, $0 / 1.01) } ?? seconds
        // A timeout says that an answer takes longer, and not how long.
        if outcome == .timeout, let headTime { usual = max(usual, headTime) }
        headTime = usual
        let limit = adaptive?.note(outcome, latency: seconds, usual: usual, since: start, at: now)
        if let limit { places = limit }
    }
}

extension Duration {
    /// The number of seconds, to a nanosecond; several times as fast as a division by a second.
    var inSeconds: Double { Double(Int64(truncatingIfNeeded: attoseconds >> 30)) * (Double(1 << 30) * 1e-18) }
}
