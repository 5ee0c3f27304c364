public import Decorum

/// The requests that may be on their way at the same time, or begin in a time.
///
/// ```swift
/// let limits = Limits(.fixed(4), rate: .init(20, per: .seconds(1)))
/// ```
///
/// A limit of zero or less lets nothing through: each request fails with a ``LimitError``.
public struct Limits: Sendable, Hashable {
    /// The number of requests that may be on their way at the same time.
    public enum Concurrency: Sendable, Hashable {
        /// The number is always the same.
        case fixed(Int)
        /// The number follows what the server can work on at the same time, as its latency shows.
        case adaptive(within: ClosedRange<Int>)
    }

    /// The number of requests that may begin in a time (token bucket).
    public struct Rate: Sendable, Hashable {
        /// The number of requests in ``period``.
        public var requests: Int
        /// The time in which they may begin.
        public var period: Duration

        /// Creates a rate; after a quiet time, the requests of a whole period begin at once.
        public init(_ requests: Int, per period: Duration) { (self.requests, self.period) = (requests, period) }
    }

    /// The number of requests that may be on their way; nil for any number.
    public var concurrency: Concurrency?
    /// The number of requests that may begin in a time; nil for any number.
    public var rate: Rate?

    /// Creates limits.
    public init(_ concurrency: Concurrency? = nil, rate: Rate? = nil) {
        (self.concurrency, self.rate) = (concurrency, rate)
    }

    var isAdaptive: Bool { if case .adaptive = concurrency { true } else { false } }

    /// Whether no request can ever be let through.
    var letNothingPass: Bool {
        if let rate, rate.requests < 1 || rate.period <= .zero { return true }
        return switch concurrency {
        case .fixed(let count): count < 1
        case .adaptive(let range): range.lowerBound < 1
        case nil: false
        }
    }
}

/// How `limiting(_:in:clock:spawner:)` limits requests, and how long they wait.
public struct LimitPolicy: Sendable, Hashable {
    /// The limits of requests that share them by ``scope``.
    public var limits: Limits
    /// The requests that share limits.
    public var scope: TrafficScope
    /// Limits of single groups, each for all requests of the group, in place of the limits of the scope.
    public var groups: [RequestGroup: Limits]
    /// The largest number of requests that wait for the same limits; suspended ones count apart.
    public var longestQueue: Int
    /// The longest time for which a request without a deadline waits.
    public var longestWait: Duration
    /// Whether a request is on its way only until the head of its response has arrived, and not until its body was read.
    ///
    /// Otherwise code that sends a request for each item of a response that it has not read to its end may wait for itself.
    public var releasesAtHead: Bool

    /// Creates a policy from its values.
    public init(
        _ limits: Limits, per scope: TrafficScope = .origin, groups: [RequestGroup: Limits] = [:],
        longestQueue: Int = 1000, longestWait: Duration = .seconds(60), releasesAtHead: Bool = false
    ) {
        (self.limits, self.scope, self.groups) = (limits, scope, groups)
        (self.longestQueue, self.longestWait, self.releasesAtHead) = (longestQueue, longestWait, releasesAtHead)
    }

    /// Six requests to each origin are on their way at the same time.
    public static let standard = LimitPolicy(Limits(.fixed(6)))
    /// As many requests are on their way to each origin as it can work on at the same time, from 1 to 200.
    public static let adaptive = LimitPolicy(Limits(.adaptive(within: 1...200)))

    /// The limits of the scope and of groups.
    var allLimits: [Limits] { [limits] + groups.values }

    /// The longest wait as a limit that can be added to an instant.
    var boundedWait: Duration { max(.zero, longestWait.bounded) }

    /// The scope of the key whose limits a request shares.
    func scope(of request: borrowing Request) -> TrafficScope {
        guard !groups.isEmpty, let group = request.options.group, groups[group] != nil else { return scope }
        return .group
    }

    func limits(of key: TrafficKey) -> Limits {
        if case .group(let group) = key { groups[group] ?? limits } else { limits }
    }

    var layerSettings: [Layer.Setting] {
        var settings: [Layer.Setting] = []
        switch limits.concurrency {
        case .fixed(let count): settings.append(.init("concurrency", count))
        case .adaptive(let range): settings.append(.init("concurrency", "adaptive \(range)"))
        case nil: break
        }
        if let rate = limits.rate { settings.append(.init("rate", "\(rate.requests) per \(rate.period)")) }
        settings.append(.init("per", scope.rawValue))
        settings += groups.keys.map(\.name).sorted().map { .init("group", $0) }
        return releasesAtHead ? settings + [.init("releasesAtHead", true)] : settings
    }
}

extension RequestOptions {
    /// The longest time for which the request waits until nothing else runs or waits at its limits; nil to take its turn.
    ///
    /// After it, the request waits for its turn by its ``priority``, as all others do.
    public var deferral: Duration? {
        get { self[DeferralKey.self] }
        set { self[DeferralKey.self] = newValue }
    }

    /// Makes the request one that gives way to others, such as a prefetch: of the lowest priority, and deferred.
    ///
    /// ```swift
    /// request.options.setLowPriority(in: "prefetch")
    /// ```
    public mutating func setLowPriority(in group: RequestGroup? = nil, deferredFor deferral: Duration = .seconds(60)) {
        if let group { self.group = group }
        (priority, self.deferral) = (.background, deferral)
    }
}

private enum DeferralKey: RequestOptionKey {
    static let defaultValue: Duration? = nil
    static let travels: OptionTravel = [.redirections, .attempts, .backgroundRequests]
}
