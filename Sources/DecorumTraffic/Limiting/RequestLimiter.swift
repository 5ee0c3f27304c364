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
/// Stacks with one limiter and equal policies share their limits. Since a limiter can cancel requests that are on their way,
/// each of them has a task of its own; a layer without a limiter does without.
public final class RequestLimiter: Sendable {
    let suspensions = LimitSuspensions()
    private let tables = Mutex<[LimitTable]>([])

    /// Creates a limiter without requests.
    public init() {}

    /// Lets no further request of a group, or none at all, be sent, until ``resume(_:)`` was called as often.
    ///
    /// Requests that are on their way go on. Further ones wait, each until its deadline or for the longest wait.
    ///
    /// - Parameter group: The group; nil for all requests.
    public func suspend(_ group: RequestGroup? = nil) { suspensions.add(group) }

    /// Ends one suspension of a group, or of all requests; the most important requests are sent first.
    ///
    /// - Parameter group: The group that was suspended; nil if all requests were. Without a suspension, it has no effect.
    public func resume(_ group: RequestGroup? = nil) {
        guard suspensions.remove(group) else { return }
        for lane in lanes { lane.resume() }
    }

    /// Ends the requests that wait or are on their way, with a ``LimitError``.
    ///
    /// A body that is being read fails with its next chunk. Later requests are not affected.
    ///
    /// - Parameters:
    ///   - reason: The reason, for the error; without secrets, since it may be logged.
    ///   - group: The group whose requests end; nil for all requests.
    public func cancelAll(reason: String, in group: RequestGroup? = nil) {
        for lane in lanes { lane.cancelAll(of: group, because: reason) }
    }

    /// The present numbers of requests.
    public var snapshot: Snapshot {
        var snapshot = Snapshot()
        for lane in lanes { lane.add(to: &snapshot) }
        snapshot.limits.sort { $0.name < $1.name }
        return snapshot
    }

    /// The table of a policy, which the stacks with equal policies share.
    func table(
        for policy: LimitPolicy, isSteered: Bool, clock: any DatedClock, spawner: any TaskSpawner
    ) -> LimitTable {
        tables.withLock { tables in
            if let table = tables.first(where: { $0.policy == policy }) { return table }
            let table = LimitTable(policy, suspensions, isSteered: isSteered, clock: clock, spawner: spawner)
            tables.append(table)
            return table
        }
    }

    private var lanes: [LimitLane] { tables.withLock { $0 }.flatMap(\.lanes) }
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
        }

        /// The requests within the same limits.
        public struct Limit: Sendable, Hashable {
            /// The origin, the group, or “all requests”.
            public let name: String
            /// The number of requests that wait.
            public let waiting: Int
            /// The number of requests on their way.
            public let running: Int
            /// The number of requests that may be on their way now; nil for any number.
            public let concurrency: Int?
        }

        /// The numbers of all requests.
        public private(set) var all = Count()
        /// The numbers of the requests of each group that has some.
        public private(set) var groups: [RequestGroup: Count] = [:]
        /// The limits in use, by name.
        public internal(set) var limits: [Limit] = []

        mutating func add(_ limit: Limit, _ waiting: [RequestGroup: Int], _ running: [RequestGroup: Int]) {
            limits.append(limit)
            all.waiting += limit.waiting
            all.running += limit.running
            for (group, count) in waiting { groups[group, default: Count()].waiting += count }
            for (group, count) in running { groups[group, default: Count()].running += count }
        }

        /// The numbers of all requests.
        public var description: String { "\(all.waiting) waiting, \(all.running) running" }
    }
}

/// The groups of which no request is sent.
final class LimitSuspensions: Sendable {
    private let isUsed = Atomic(false)
    private let counts = Mutex<[RequestGroup?: Int]>([:])

    func contains(_ group: RequestGroup?) -> Bool {
        isUsed.load(ordering: .acquiring)
            && counts.withLock { $0[RequestGroup?.none] != nil || group != nil && $0[group] != nil }
    }

    var containsAll: Bool { contains(nil) }

    func add(_ group: RequestGroup?) {
        counts.withLock { counts in
            counts[group, default: 0] += 1
            isUsed.store(true, ordering: .releasing)
        }
    }

    /// Removes one suspension; returns whether the group is suspended no longer.
    func remove(_ group: RequestGroup?) -> Bool {
        counts.withLock { counts in
            guard let count = counts[group] else { return false }
            counts[group] = count > 1 ? count - 1 : nil
            isUsed.store(!counts.isEmpty, ordering: .releasing)
            return count == 1
        }
    }
}

/// The time of a limiter, which counts from the instant of its creation; an object, since an instant is slow to copy.
final class LimitTime: Sendable {
    let clock: any DatedClock
    let start: ContinuousClock.Instant

    init(_ clock: any DatedClock) { (self.clock, start) = (clock, clock.now) }

    var now: Duration { start.duration(to: clock.now) }
}

/// The limits of one policy, by origin, by group or for all requests.
final class LimitTable: Sendable {
    /// The number of lanes in a shard above which one that is not in use is forgotten.
    static let laneLimit = 64

    /// A part of the table with a lock of its own, so that requests to different origins seldom wait for each other.
    private final class Shard: Sendable {
        let lanes = Mutex<[LimitLane]>([])
    }

    let policy: LimitPolicy
    let suspensions: LimitSuspensions
    let isSteered: Bool
    let time: LimitTime
    let spawner: any TaskSpawner
    private let shards: [Shard]
    /// The lane that was found last for an authority, by the length of the authority.
    private let latest: [Latest]
    private let isByHead: Bool

    init(
        _ policy: LimitPolicy, _ suspensions: LimitSuspensions, isSteered: Bool, clock: any DatedClock,
        spawner: any TaskSpawner
    ) {
        (self.policy, self.suspensions, self.isSteered) = (policy, suspensions, isSteered)
        (time, self.spawner) = (LimitTime(clock), spawner)
        shards = (0..<8).map { _ in Shard() }
        latest = (0..<8).map { _ in Latest() }
        isByHead = policy.scope != .group && policy.groups.isEmpty
    }

    private final class Latest: Sendable {
        let found = Mutex<(scheme: String, authority: String, lane: LimitLane)?>(nil)
    }

    /// The lane of a request, mostly without the parts of its origin.
    func lane(of request: borrowing Request) -> LimitLane {
        guard isByHead else { return lane(for: policy.key(of: request)) }
        let isOne = policy.scope == .all
        let (scheme, authority) = isOne ? ("", "") : (request.head.scheme ?? "", request.head.authority ?? "")
        let latest = latest[authority.utf8.count & 7]
        let lane = latest.found.withLock { found in
            found.flatMap { $0.authority == authority && $0.scheme == scheme ? $0.lane : nil }
        }
        if let lane { return lane }
        let found = self.lane(for: policy.key(of: request))
        latest.found.withLock { $0 = (scheme, authority, found) }
        return found
    }

    var lanes: [LimitLane] { shards.flatMap { shard in shard.lanes.withLock { $0 } } }

    func lane(for key: TrafficKey) -> LimitLane {
        shards[key.shard & 7].lanes.withLock { lanes in
            // A comparison of a host takes a tenth of the time of a hash, and few origins are in use.
            for lane in lanes where lane.key.isSame(as: key) { return lane }
            if lanes.count >= Self.laneLimit {
                Self.forgetOne(of: &lanes)
                for latest in latest { latest.found.withLock { $0 = nil } }
            }
            let lane = LimitLane(key, in: self)
            lanes.append(lane)
            return lane
        }
    }

    /// Forgets the lane that was not used for the longest time; each lane in use stays.
    private static func forgetOne(of lanes: inout [LimitLane]) {
        let byUse = lanes.indices.sorted { lanes[$0].lastUse < lanes[$1].lastUse }
        if let index = byUse.first(where: { lanes[$0].retire() }) { lanes.remove(at: index) }
    }
}

extension TrafficKey {
    /// A number that tells origins and groups apart well enough, without a hash.
    fileprivate var shard: Int {
        let (name, port) =
            switch self {
            case .origin(let origin): (origin.host, origin.port)
            case .group(let group): (group.name, 0)
            case .all: ("", 0)
            }
        return port &+ name.utf8.count &+ Int(name.utf8.first ?? 0) &+ 3 &* Int(name.utf8.last ?? 0)
    }

    fileprivate func isSame(as other: TrafficKey) -> Bool {
        guard case (.origin(let one), .origin(let two)) = (self, other) else { return self == other }
        return one.host == two.host && one == two
    }
}
