import Decorum
import DecorumTesting
import DecorumTraffic
import Foundation
import HTTPTypes
import Testing

/// One run of at most 50 requests, in which a seed decides about the stack, the servers, and what callers do.
struct TrafficRun: Sendable {
    let seed: UInt64
    /// A small layer in place of Decorum's, with a mistake or without one.
    var toy: Toy?
    var mistake: Mistake?

    /// The rules that the run has broken.
    func violations() -> [String] { outcome().violations }

    /// The rules that the run has broken, and what has happened in it.
    func outcome() -> (violations: [String], history: TrafficHistory) {
        let clock = SimulatedClock(shufflingTasksBy: SeededGenerator(seed: seed))
        let record = TrafficRecord(clock: clock)
        let limiter = RequestLimiter()
        do {
            try clock.run(within: .seconds(10_000)) { try await run(on: clock, limiter, record) }
        } catch {
            return (record.history.violations() + ["\(error)"], record.history)
        }
        let count = limiter.snapshot.all
        let permits = count.running + count.waiting + record.history.heldPermits()
        let lost = permits > 0 ? ["\(permits) permits have not come back"] : []
        return (record.history.violations() + lost, record.history)
    }

    private func run(on clock: SimulatedClock, _ limiter: RequestLimiter, _ record: TrafficRecord) async throws {
        let dice = Dice(seed: seed)
        // With coarse times, much happens at the same moment.
        let grain = Duration.milliseconds(dice.one(of: [1, 10]))
        let pace = Duration.milliseconds(dice.one(of: [60, 600]))
        let network = SimulatedNetwork(
            scenario(dice, grain), clock: clock, generator: SeededGenerator(seed: dice.generator.next()))
        let faults = dice.one(of: [0, 0, 0.1])
        let transport = SimulatedTransport(network)
            .injectingFaults(
                .delay(.zero ... .milliseconds(100), rate: faults), .bandwidth(1000, rate: faults), .loss(rate: faults),
                .status(.badGateway, rate: faults), .truncation(rate: faults),
                to: { _ in clock.time < .seconds(600) }, clock: clock, generator: SeededGenerator(seed: seed + 1)
            )
            .recordingExchanges(in: record)
        let stack =
            if let toy { toy.stack(over: transport, clock, record, mistake) } else {
                stack(over: transport, clock, limiter, record, dice)
            }
        var tasks: [Task<Void, Never>] = []
        for number in 0..<dice.number(in: 3...12) {
            try await clock.sleep(for: dice.time(upTo: pace, grain))
            var request = try request(number, dice, grain, at: clock)
            begin(number, &request, record)
            let dropsBody = dice.chance(0.2)
            let task = Task { [request] in await send(request, number, through: stack, record, dropsBody: dropsBody) }
            tasks.append(task)
            guard dice.chance(0.25) else { continue }
            let time = dice.time(upTo: pace * 2, grain)
            Task {
                try await clock.sleep(for: time)
                record.update { history, now in
                    if history.calls[number].end == nil { history.calls[number].cancellation = now }
                }
                task.cancel()
            }
        }
        for task in tasks { await task.value }
        // All that is open by now has to end, and the server is well again.
        for number in tasks.count..<tasks.count + 3 {
            try await clock.sleep(for: .seconds(number == tasks.count ? 700 : 100))
            var request = try Request.getItem(number)
            begin(number, &request, record)
            await send(request, number, through: stack, record, dropsBody: false)
        }
        try await clock.sleep(for: .seconds(200))
    }

    private func begin(_ number: Int, _ request: inout Request, _ record: TrafficRecord) {
        request.options[CallNumberKey.self] = number
        let isUnsafe = request.head.method == .post
        let deadline = request.options.deadline.map { record.clock.time + record.clock.now.duration(to: $0) }
        record.update { history, now in
            history.calls.append(.init(beginning: now, deadline: deadline, isUnsafe: isUnsafe))
        }
    }

    private func send(
        _ request: Request, _ number: Int, through stack: any Connection, _ record: TrafficRecord, dropsBody: Bool
    ) async {
        var outcome = TrafficHistory.Call.Outcome.bad
        do {
            let response = try await stack.send(request)
            record.update { $0.calls[number].head = $1 }
            if response.status.code < 500 { outcome = .good }
            if !dropsBody { _ = try await response.data(upTo: 1 << 20) }
        } catch {
            if error is CancellationError { outcome = .cancelled }
            if error is CircuitOpenError || error is Toy.CircuitOpen { outcome = .circuitOpen }
        }
        record.update { [outcome] history, now in
            if outcome == .circuitOpen, history.failuresBeforeFirstRefusal == nil {
                history.failuresBeforeFirstRefusal = history.failures
            }
            history.calls[number].outcome = outcome
            history.calls[number].end = now
        }
    }

    private func request(_ number: Int, _ dice: Dice, _ grain: Duration, at clock: SimulatedClock) throws -> Request {
        var request = dice.chance(0.15) ? try Request.post("https://api.example.com/items") : try .getItem(number)
        if dice.chance(0.5) {
            request.options.deadline = clock.now + .milliseconds(50) + dice.time(upTo: .seconds(3), grain)
        }
        request.options.priority = dice.one(of: [nil, .low, .high])
        return request
    }

    private func scenario(_ dice: Dice, _ grain: Duration) -> Scenario {
        var server = SimulatedServer()
        server.workers = dice.number(in: 1...3)
        server.work = SimulatedDelay(
            mean: grain + dice.time(upTo: .milliseconds(200), grain),
            deviation: .milliseconds(dice.one(of: [0, 0, 50])),
            stragglers: dice.one(of: [0, 0.1]), stragglerFactor: 10)
        server.trip = .fixed(grain * 2)
        server.queueLimit = dice.number(in: 0...20)
        server.servesAbandoned = dice.chance(0.5)
        server.losses = dice.one(of: [0, 0, 0.1])
        server.failures = dice.one(of: [0, 0.2])
        server.resets = dice.one(of: [0, 0.1])
        server.contentTime = dice.one(of: [.zero, .milliseconds(40)])
        server.contentLength = 100
        var trouble = server
        trouble.answer = dice.one(of: [.works, .stopped, .refuses(503, retryAfter: .seconds(1)), .refuses(500)])
        return Scenario(
            named: "seed \(seed)",
            phases: [
                .init(from: .zero, server: server), .init(from: .seconds(1), server: trouble),
                .init(from: .milliseconds(1000 + dice.number(in: 100...3000)), server: server),
                .init(from: .seconds(600), server: SimulatedServer()),
            ])
    }

    /// Puts layers, by chance, around a transport, in the order in which their documentation places them.
    private func stack(
        over transport: any Connection, _ clock: SimulatedClock, _ limiter: RequestLimiter, _ record: TrafficRecord,
        _ dice: Dice
    ) -> any Connection {
        var stack: any Connection = transport
        let budget = RetryBudget()
        let fallsBack = dice.chance(0.3)
        if dice.chance(0.5) {
            stack = stack.limitingTime(
                AttemptTimePolicy(.milliseconds(dice.number(in: 100...1500))), as: .attempt, clock: clock)
        }
        if dice.chance(0.5) {
            let limit = dice.number(in: 1...3)
            record.update { history, _ in history.limit = limit }
            let concurrency: Limits.Concurrency =
                dice.chance(0.3) ? .adaptive(within: 1...limit) : .fixed(limit)
            let limits = Limits(concurrency, rate: dice.chance(0.3) ? .init(5, per: .seconds(1)) : nil)
            let policy = LimitPolicy(
                limits, per: .all, longestQueue: dice.one(of: [2, 100]), longestWait: .seconds(10))
            stack = stack.limiting(policy, in: dice.chance(0.5) ? limiter : nil, clock: clock)
                .recordingArrivals(in: record)
        }
        if dice.chance(0.5) {
            record.update { history, _ in history.circuitThreshold = 3 }
            stack = stack.breakingCircuits(
                CircuitPolicy(opensAfter: .failures(inARow: 3), firstBreak: .seconds(1)), clock: clock,
                generator: dice.generator)
        }
        if dice.chance(0.5) {
            record.update { history, _ in history.isHedged = true }
            stack = stack.hedging(HedgingPolicy(percentile: 0.5, largestShare: 1, budget: budget), clock: clock)
        }
        if dice.chance(0.3) { stack = stack.pacing(clock: clock, generator: dice.generator) }
        if dice.chance(0.7) {
            // Another origin has a budget of its own.
            record.update { history, _ in history.hasBudget = !fallsBack }
            stack = stack.retrying(RetryPolicy(budget: budget), clock: clock, generator: dice.generator)
        }
        if fallsBack, let origin = try? Origin("https://b.example.com") {
            stack = stack.fallingBack(to: .origin(origin), clock: clock)
        }
        if dice.chance(0.3) {
            record.update { history, _ in history.isShared = true }
            stack = stack.coalescing(clock: clock)
        }
        return dice.chance(0.3) ? stack.limitingTime(TimePolicy(call: .seconds(5)), clock: clock) : stack
    }
}

extension Request {
    /// A request for one of three resources.
    fileprivate static func getItem(_ number: Int) throws -> Request {
        try .get("https://api.example.com/items/\(number % 3)")
    }
}

/// Decisions by chance, which follow from a seed.
struct Dice: Sendable {
    let generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    func chance(_ probability: Double) -> Bool { generator.uniform() < probability }
    func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(generator.uniform() * Double(range.count))
    }
    func time(upTo limit: Duration, _ grain: Duration) -> Duration {
        grain * number(in: 0...Int(limit / grain))
    }
    func one<Value>(of values: [Value]) -> Value { values[number(in: 0...values.count - 1)] }
}

@Suite(.timeLimit(.minutes(3))) struct SimulationInvariantTests {
    @Test(arguments: 0..<4) func `Random stacks keep the rules with each seed`(part: UInt64) {
        let isSoak = ProcessInfo.processInfo.environment["DECORUM_SOAK"] != nil
        var reached = TrafficHistory.Reach()
        for seed in stride(from: part, to: isSoak ? 1_000_000 : 2_000, by: 4) {
            let (violations, history) = TrafficRun(seed: seed).outcome()
            reached.add(history)
            if seed % 100 < 4 {
                let again = TrafficRun(seed: seed).outcome().history
                #expect(again.calls == history.calls && again.exchanges == history.exchanges, "seed \(seed)")
            }
            guard violations.isEmpty else {
                Issue.record("seed \(seed): \(violations.joined(separator: "; "))")
                return
            }
        }
        // A rule says nothing about a run in which nothing happens.
        #expect(reached.smallest > 50, "\(reached)")
    }

    @Test(arguments: Toy.allCases) func `A small layer without a mistake keeps the rules`(toy: Toy) {
        for seed in 0..<UInt64(300) {
            let violations = TrafficRun(seed: seed, toy: toy).violations()
            guard violations.isEmpty else {
                Issue.record("seed \(seed): \(violations.joined(separator: "; "))")
                return
            }
        }
    }

    @Test(arguments: Mistake.allCases) func `A planted mistake is found, and its seed repeats it`(mistake: Mistake)
        throws
    {
        let runs = (0..<UInt64(10_000)).lazy.map { TrafficRun(seed: $0, toy: mistake.toy, mistake: mistake) }
        let run = try #require(runs.first { !$0.violations().isEmpty })
        #expect(run.violations() == run.violations())
    }
}
