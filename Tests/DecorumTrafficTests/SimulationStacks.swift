import Decorum
import DecorumTesting
import DecorumTraffic

/// The layers of one run, in the order in which their documentation places them.
struct TrafficStack: Sendable {
    enum Part: CaseIterable { case routing, pacing, network, fallback, sharing, caching }
    /// What a mistake does around a layer.
    typealias Step = @Sendable (Request, _ base: any Connection, SimulatedClock) async throws -> Response

    static let circuitThreshold = 3
    static let requestsPerSecond = 5

    var attemptTime: Duration?
    var limit: Int?
    var limits: LimitPolicy?
    var circuits: CircuitPolicy?
    var hedging: HedgingPolicy?
    var retries: RetryPolicy?
    var parts: Set<Part> = []
    var callTime: Duration?
    var inside: Step?
    var outside: Step?

    /// Whether one budget covers all further requests: another origin has one of its own.
    var hasBudget: Bool { retries != nil && !parts.contains(.fallback) }
    var isShared: Bool { !parts.isDisjoint(with: [.sharing, .caching]) }

    /// Builds the stack over a transport, and another one of the same network without faults.
    func connection(
        over transport: any Connection, _ other: any Connection, _ network: SettableNetwork, _ limiter: RequestLimiter,
        _ generator: SeededGenerator, on clock: SimulatedClock, _ record: TrafficRecord
    ) async throws -> any Connection {
        var stack = transport
        if parts.contains(.routing) {
            stack = stack.routing(by: { $0.options.priority == .low ? "other" : nil }, to: ["other": other])
        }
        if let inside { stack = stack.intercepting("inside", facts: []) { try await inside($0, $1, clock) } }
        if let attemptTime { stack = stack.limitingTime(AttemptTimePolicy(attemptTime), as: .attempt, clock: clock) }
        if let limits {
            stack = stack.limiting(limits, in: limiter, clock: clock)
            if let outside { stack = stack.intercepting("outside", facts: []) { try await outside($0, $1, clock) } }
            stack = stack.recordingArrivals(in: record)
        }
        if let circuits { stack = stack.breakingCircuits(circuits, clock: clock, generator: generator) }
        let isWarm = Monitor(false)
        if let hedging {
            stack = stack.intercepting("answeringFirst", facts: []) { request, base in
                if isWarm.state { return try await base.send(request) }
                try await clock.sleep(for: .milliseconds(20))
                return Response(status: .ok)
            }
            .hedging(hedging, clock: clock)
        }
        if parts.contains(.pacing) { stack = stack.pacing(clock: clock, generator: generator) }
        if parts.contains(.network) {
            stack = stack.waitingForNetwork(on: network, clock: clock, generator: generator)
        }
        if let retries { stack = stack.retrying(retries, clock: clock, generator: generator) }
        if hedging != nil {
            // Without twenty answers, nothing is hedged.
            for _ in 0..<20 { _ = try await stack.send(.get("https://api.example.com/")) }
            isWarm.update { $0 = true }
        }
        if parts.contains(.fallback) {
            stack = stack.fallingBack(to: .origin(try Origin("https://b.example.com")), clock: clock)
        }
        if parts.contains(.sharing) { stack = stack.coalescing(clock: clock) }
        if parts.contains(.caching) {
            stack = stack.intercepting("lifetimes", facts: []) { request, base in
                var response = try await base.send(request)
                if response.status == .ok { response.head.headerFields[.cacheControl] = "max-age=1, stale-if-error=5" }
                return response
            }
            .caching(in: MemoryResponseStore(), clock: clock)
        }
        if let callTime { stack = stack.limitingTime(TimePolicy(call: callTime), clock: clock) }
        guard let outside, limits == nil else { return stack }
        return stack.intercepting("outside", facts: []) { try await outside($0, $1, clock) }
    }
}

extension TrafficStack {
    /// Chooses layers and settings by chance.
    init(by dice: SeededGenerator) {
        self.init()
        let budget = RetryBudget()
        if dice.chance(0.5) { attemptTime = .milliseconds(dice.number(in: 100...1500)) }
        if dice.chance(0.5) {
            let limit = dice.number(in: 1...3)
            self.limit = limit
            let rate = Limits.Rate(Self.requestsPerSecond, per: .seconds(1))
            limits = LimitPolicy(
                Limits(
                    dice.chance(0.3) ? .adaptive(within: 1...limit) : .fixed(limit), rate: dice.chance(0.3) ? rate : nil
                ),
                per: .all, longestQueue: dice.one(of: [2, 100]), longestWait: .seconds(10))
        }
        if dice.chance(0.5) { circuits = Self.circuits }
        if dice.chance(0.25) { hedging = HedgingPolicy(percentile: 0.5, largestShare: 1, budget: budget) }
        if dice.chance(0.7) { retries = RetryPolicy(budget: budget) }
        parts = Set(Part.allCases.filter { _ in dice.chance(0.25) })
        if dice.chance(0.3) { callTime = .seconds(5) }
    }

    private static let circuits = CircuitPolicy(
        opensAfter: .failures(inARow: circuitThreshold), firstBreak: .seconds(1))

    // The stacks of one layer, for mistakes in it; a hedge needs the budget of retries.
    static var retrying: Self { Self(retries: RetryPolicy(budget: RetryBudget())) }
    static var limiting: Self {
        Self(limit: 2, limits: LimitPolicy(Limits(.fixed(2)), per: .all, longestWait: .seconds(100)))
    }
    static var rating: Self {
        Self(limits: LimitPolicy(Limits(rate: .init(requestsPerSecond, per: .seconds(1))), per: .all))
    }
    static var breaking: Self { Self(circuits: circuits) }
    static var hedging: Self {
        let budget = RetryBudget()
        return Self(
            hedging: HedgingPolicy(percentile: 0.5, largestShare: 1, budget: budget),
            retries: RetryPolicy(budget: budget))
    }
    static func only(_ part: Part) -> Self { Self(parts: [part]) }
}

// Decisions by chance, which follow from the seed.
extension SeededGenerator {
    func chance(_ probability: Double) -> Bool { uniform() < probability }
    func number(in range: ClosedRange<Int>) -> Int { range.lowerBound + Int(uniform() * Double(range.count)) }
    func time(upTo limit: Duration, _ grain: Duration) -> Duration { grain * number(in: 0...Int(limit / grain)) }
    func one<Value>(of values: [Value]) -> Value { values[number(in: 0...values.count - 1)] }
}

/// A mistake that a layer has had somewhere, in a stack of this layer: by a setting, or by what is done around the layer.
struct Mistake: Sendable, CustomStringConvertible {
    let description: String
    let stack: @Sendable () -> TrafficStack
    let plant: @Sendable (inout TrafficStack) -> Void

    private init(
        _ name: String, in stack: @autoclosure @escaping @Sendable () -> TrafficStack,
        _ plant: @escaping @Sendable (inout TrafficStack) -> Void
    ) {
        (description, self.stack, self.plant) = (name, stack, plant)
    }

    static let all = [
        Self("forgets the deadline of a retry", in: .retrying) { $0.outside = changing { $0.options.deadline = nil } },
        Self("retries without a budget", in: .retrying) { $0.retries?.budget = .unlimited },
        Self("retries unsafe methods", in: .retrying) { $0.retries?.methods.insert(.post) },
        Self("goes on after a cancellation", in: .retrying) { $0.outside = uncancelled },
        Self("takes a failure for a cancellation", in: .retrying) { $0.inside = failing(as: CancellationError()) },
        Self("keeps the place of a dropped body", in: .limiting) {
            let kept = Monitor<[Response]>([])
            $0.outside = answering { response, _ in kept.update { $0.append(response) } }
        },
        Self("never ends after a failure", in: .limiting) {
            $0.inside = { request, base, _ in
                do { return try await base.send(request) } catch is TransportError { try await Gate().wait() }
                throw CancellationError()
            }
        },
        Self("counts one request too few", in: .limiting) { $0.limits?.limits.concurrency = .fixed(3) },
        Self("lets too many requests begin in a second", in: .rating) { $0.limits?.limits.rate?.requests *= 3 },
        Self("lets the least important go first", in: .limiting) {
            $0.outside = changing { request in
                request.options.priority = .init(rawValue: 100 - (request.options.priority ?? .medium).rawValue)
            }
        },
        Self("queues a cancelled request", in: .limiting) { $0.outside = uncancelled },
        Self("counts cancellations as failures", in: .breaking) {
            $0.inside = failing(as: TransportError(.connectionLost, at: .head))
        },
        Self("opens too early", in: .breaking) { $0.circuits?.trigger = .failures(inARow: 2) },
        Self("never closes", in: .breaking) { $0.circuits?.firstBreak = .seconds(1 << 40) },
        Self("leaves the loser", in: .hedging) { $0.inside = uncancelled },
        Self("answers late", in: .hedging) {
            $0.outside = answering { _, clock in try await clock.sleep(for: .milliseconds(1)) }
        },
        Self("hedges unsafe methods", in: .hedging) { $0.outside = changing { $0.head.method = .get } },
        Self("has one budget for hedges and one for retries", in: .hedging) { $0.hedging?.budget = RetryBudget() },
        Self("stores failures", in: .only(.caching)) {
            $0.inside = answering { response, _ in response.head.headerFields[.cacheControl] = "max-age=1000000" }
        },
        Self("falls back unsafely", in: .only(.fallback)) { $0.outside = changing { $0.head.method = .get } },
    ]
}

/// Sends a request in a task of its own, which nobody cancels.
private let uncancelled: TrafficStack.Step = { request, base, _ in try await Task { try await base.send(request) }.value
}

private func changing(_ change: @escaping @Sendable (inout Request) -> Void) -> TrafficStack.Step {
    { request, base, _ in
        var request = request
        change(&request)
        return try await base.send(request)
    }
}

private func answering(
    _ change: @escaping @Sendable (inout Response, SimulatedClock) async throws -> Void
) -> TrafficStack.Step {
    { request, base, clock in
        var response = try await base.send(request)
        try await change(&response, clock)
        return response
    }
}

private func failing(as failure: any Error) -> TrafficStack.Step {
    { request, base, _ in
        do { return try await base.send(request) } catch { throw failure }
    }
}
