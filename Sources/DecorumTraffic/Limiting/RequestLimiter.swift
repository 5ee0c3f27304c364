public import Decorum
import Synchronization

/// The limits of `limiting(_:in:clock:spawner:)` in one value, which steers and shows the requests.
///
/// ```swift
/// let limiter = RequestLimiter()
/// let connection = SystemConnection()
///     .limiting(.standard, in: limiter)
///
/// limiter.suspend("images")
/// limiter.cancelAll(reason: "the user has signed out")
/// limiter.resume("images")
/// print(limiter.snapshot)
/// ```
///
/// Stacks with one limiter and equal policies share their limits, and the clock and the spawner of the first one. Since a
/// limiter can cancel requests that are on their way, each of them has a task of its own; a layer without a limiter does
/// without.
public final class RequestLimiter: Sendable {
    private let suspensions = LimitSuspensions()
    private let tables = Mutex<[LimitTable]>([])

    /// Creates a limiter without requests.
    public init() {}

    /// Lets further requests of a group, or all, wait until ``resume(_:)`` was called as often, or for their longest wait.
    public func suspend(_ group: RequestGroup? = nil) { suspensions.change(group, by: 1) }

    /// Ends one suspension of a group, or of all requests, if there is one.
    public func resume(_ group: RequestGroup? = nil) {
        suspensions.change(group, by: -1)
        for lane in lanes { lane.admitWaiting() }
    }

    /// Ends the requests of a group, or all, that wait or are on their way, with a ``LimitError``.
    ///
    /// A body that is being read fails with its next chunk. The reason stands in the error, and must not contain secrets.
    public func cancelAll(reason: String, in group: RequestGroup? = nil) {
        for lane in lanes { lane.cancelAll(of: group, because: reason) }
    }

    /// The present numbers of requests.
    public var snapshot: Snapshot {
        var snapshot = Snapshot()
        for lane in lanes { lane.add(to: &snapshot) }
        return snapshot
    }

    func table(
        for policy: LimitPolicy, isSteered: Bool, clock: any DatedClock, spawner: any TaskSpawner, sharing: RateSharing?
    ) -> LimitTable {
        let start = clock.now
        return tables.withLock { tables in
            let present = tables.first { $0.rule.policy == policy && $0.rule.sharing === sharing }
            if let present { return present }
            let rule = LimitRule(
                policy: policy, suspensions: isSteered ? suspensions : nil, watch: TimeLimitWatch(clock: clock),
                spawner: spawner, start: start, sharing: sharing)
            let table = LimitTable(rule: rule)
            tables.append(table)
            return table
        }
    }

    private var lanes: [LimitLane] { tables.withLock { $0 }.flatMap(\.lanes.all.values) }
}

extension RequestLimiter {
    /// The numbers of the requests of a limiter at one time.
    public struct Snapshot: Sendable, Hashable, CustomStringConvertible {
        /// Numbers of requests.
        public struct Count: Sendable, Hashable {
            /// The number of requests that wait.
            public var waiting = 0
            /// The number of requests on their way.
            public var running = 0
            /// The number of requests that may be on their way now; nil for any number, and for a group or all requests.
            public var concurrency: Int?
        }

        /// The numbers of the requests that share limits.
        public internal(set) var limits: [TrafficKey: Count] = [:]
        /// The numbers of the requests of each group that has some.
        public internal(set) var groups: [RequestGroup: Count] = [:]

        /// The numbers of all requests.
        public var all: Count {
            limits.values.reduce(into: Count()) { all, count in
                all.waiting += count.waiting
                all.running += count.running
            }
        }

        /// The numbers of all requests.
        public var description: String { "\(all.waiting) waiting, \(all.running) running" }
    }
}

/// The limits of one policy, by origin, by group or for all requests.
struct LimitTable: Sendable {
    let rule: LimitRule
    let lanes = KeyedStates<TrafficKey, LimitLane>()

    func lane(of request: borrowing Request) -> LimitLane {
        let scope = rule.policy.scope(of: request)
        let spelling = Spelling(request, scope)
        if let lane = lanes.known(spelling) { return lane }
        let key = TrafficKey(request, scope)
        return lanes.state(of: key, spelled: spelling) { LimitLane(key, under: rule) }
    }
}

/// What all requests under one policy share.
struct LimitRule: Sendable {
    let policy: LimitPolicy
    /// The suspended groups; nil if no limiter suspends and cancels requests.
    let suspensions: LimitSuspensions?
    let watch: TimeLimitWatch
    let spawner: any TaskSpawner
    /// The instant from which all times count, since an instant is slow to copy.
    let start: ContinuousClock.Instant
    /// What the machines that share the rates have in common; nil for rates of this machine alone.
    var sharing: RateSharing?

    var now: Duration { start.duration(to: watch.clock.now) }

    func isSuspended(_ group: RequestGroup?) -> Bool { suspensions?.contains(group) ?? false }
}

/// The groups of which no request is sent.
final class LimitSuspensions: Sendable {
    private let isUsed = Atomic(false)
    private let counts = Mutex<[RequestGroup?: Int]>([:])

    func contains(_ group: RequestGroup?) -> Bool {
        isUsed.load(ordering: .acquiring)
            && counts.withLock { $0[RequestGroup?.none] != nil || group != nil && $0[group] != nil }
    }

    func change(_ group: RequestGroup?, by step: Int) {
        counts.withLock { counts in
            let count = (counts[group] ?? 0) + step
            counts[group] = count > 0 ? count : nil
            isUsed.store(!counts.isEmpty, ordering: .releasing)
        }
    }
}
