import Decorum
import DecorumTestSupport
import DecorumTesting
import DecorumTraffic
import HTTPTypes
import Testing

/// One run of at most 50 requests, in which a seed decides about the stack, the servers, and what callers do.
struct TrafficRun: Sendable {
    let seed: UInt64
    /// The layer that a mistake is in, and the mistake; nil for random layers and for none.
    var stack: (@Sendable () -> TrafficStack)?
    var mistake: (@Sendable (inout TrafficStack) -> Void)?

    /// The rules that the run has broken, and what has happened in it.
    func outcome() -> (violations: [String], history: TrafficHistory) {
        let clock = SimulatedClock(shufflingTasksBy: SeededGenerator(seed: seed))
        let dice = SeededGenerator(seed: seed)
        var stack = stack?() ?? TrafficStack(by: dice)
        let record = TrafficRecord(TrafficHistory(clock: clock, stack: stack))
        mistake?(&stack)
        var failures: [String] = []
        do {
            let permits = try clock.run(within: .seconds(10_000)) { [stack] in
                try await run(stack, dice, clock, record)
            }
            if permits > 0 { failures = ["\(permits) permits have not come back"] }
        } catch { failures = ["\(error)"] }
        let history = record.state
        return (history.violations() + failures, history)
    }

    /// Makes the calls; returns the number of permits that have not come back.
    private func run(
        _ stack: TrafficStack, _ dice: SeededGenerator, _ clock: SimulatedClock, _ record: TrafficRecord
    ) async throws -> Int {
        // With coarse times, much happens at the same moment.
        let grain = Duration.milliseconds(dice.one(of: [1, 10]))
        let pace = Duration.milliseconds(dice.one(of: [60, 600]))
        let servers = SimulatedNetwork(
            scenario(dice, grain), clock: clock, generator: SeededGenerator(seed: dice.next()))
        let (network, limiter) = (SettableNetwork(), RequestLimiter())
        let (plain, hasFaults) = (SimulatedTransport(servers).recordingExchanges(in: record), dice.chance(0.3))
        let transport = SimulatedTransport(servers).injectingFaults(
            .delay(.zero ... .milliseconds(100), rate: 0.1), .bandwidth(1000, rate: 0.1), .loss(rate: 0.1),
            .status(.badGateway, rate: 0.1), .truncation(rate: 0.1),
            to: { _ in hasFaults && clock.time < .seconds(600) }, clock: clock,
            generator: SeededGenerator(seed: seed + 1)
        )
        .recordingExchanges(in: record)
        .intercepting("outages", facts: []) { request, base in
            guard !network.isConnected else { return try await base.send(request) }
            record.update { $0.outages += 1 }
            throw TransportError(.unreachable, at: .connecting)
        }
        let connection = try await stack.connection(over: transport, plain, network, limiter, dice, on: clock, record)
        // The budget forgets the answers that come before.
        try await clock.sleep(for: .seconds(11) - clock.time)
        if dice.chance(0.5) {
            let (start, length) = (dice.time(upTo: pace * 4, grain), dice.time(upTo: .seconds(3), grain))
            Task {
                try await clock.sleep(for: start)
                network.set(.unreachable)
                try await clock.sleep(for: length)
                network.set(.reachable)
            }
        }
        var tasks: [Task<Void, Never>] = []
        for number in 0..<dice.number(in: 3...12) {
            try await clock.sleep(for: dice.time(upTo: pace, grain))
            var request = try Request(dice.chance(0.15) ? .post : .get, "https://api.example.com/\(number % 3)")
            let left = .milliseconds(50) + dice.time(upTo: .seconds(3), grain)
            request.options.deadline = dice.chance(0.5) ? clock.now + left : nil
            request.options.priority = dice.one(of: [nil, .low, .high])
            record.update { [request] in $0.begin(request) }
            let dropsBody = dice.chance(0.2)
            let task = Task { [request] in
                await send(request, number, through: connection, record, dropsBody: dropsBody)
            }
            tasks.append(task)
            guard dice.chance(0.25) else { continue }
            let time = dice.time(upTo: pace * 2, grain)
            Task {
                try await clock.sleep(for: time)
                record.update { if $0.calls[number].end == nil { $0.calls[number].cancellation = $0.now } }
                task.cancel()
            }
        }
        for task in tasks { await task.value }
        // All that is open by now has to end, and the server is well again.
        for number in tasks.count..<tasks.count + 3 {
            try await clock.sleep(for: .seconds(number == tasks.count ? 700 : 100))
            let request = try Request.get("https://api.example.com/\(number % 3)")
            record.update { $0.begin(request) }
            await send(request, number, through: connection, record, dropsBody: false)
        }
        try await clock.sleep(for: .seconds(200))
        let count = limiter.snapshot.all
        return withExtendedLifetime(connection) { count.running + count.waiting }
    }

    private func send(
        _ request: Request, _ number: Int, through stack: any Connection, _ record: TrafficRecord, dropsBody: Bool
    ) async {
        var (request, outcome) = (request, TrafficHistory.Call.Outcome.bad)
        request.options[CallNumberKey.self] = number
        do {
            let response = try await stack.send(request)
            record.update { history in
                history.calls[number].head = history.now
                if response.metadata.hedge != nil { history.hedges += 1 }
                if response.metadata.source == .cache { history.storedAnswers += 1 }
            }
            if response.status.code < 500 { outcome = .good }
            if !dropsBody { _ = try await response.data(upTo: 1 << 20) }
        } catch {
            if error is CancellationError { outcome = .cancelled }
            if error is CircuitOpenError { outcome = .circuitOpen }
        }
        record.update { [outcome] history in
            let failures = history.failuresBeforeFirstRefusal ?? history.failures
            if outcome == .circuitOpen { history.failuresBeforeFirstRefusal = failures }
            history.calls[number].outcome = outcome
            history.calls[number].end = history.now
        }
    }

    private func scenario(_ dice: SeededGenerator, _ grain: Duration) -> Scenario {
        var server = SimulatedServer()
        (server.workers, server.queueLimit) = (dice.number(in: 1...3), dice.number(in: 0...20))
        server.work = SimulatedDelay(
            mean: grain + dice.time(upTo: .milliseconds(200), grain),
            deviation: .milliseconds(dice.one(of: [0, 0, 50])),
            stragglers: dice.one(of: [0, 0.1]), stragglerFactor: 10)
        (server.trip, server.servesAbandoned) = (.fixed(grain * 2), dice.chance(0.5))
        (server.losses, server.failures) = (dice.one(of: [0, 0, 0.1]), dice.one(of: [0, 0.2]))
        (server.resets, server.contentTime) = (dice.one(of: [0, 0.1]), dice.one(of: [.zero, .milliseconds(40)]))
        server.contentLength = 100
        var trouble = server
        trouble.answer = dice.one(of: [.works, .stopped, .refuses(503, retryAfter: .seconds(1)), .refuses(500)])
        return Scenario(
            named: "seed \(seed)",
            phases: [
                .init(from: .zero, server: server), .init(from: .seconds(12), server: trouble),
                .init(from: .milliseconds(12_000 + dice.number(in: 100...3000)), server: server),
                .init(from: .seconds(600), server: SimulatedServer()),
            ])
    }
}

@Suite(.timeLimit(.minutes(Footprint.isSoak ? 180 : 10))) struct SimulationInvariantTests {
    @Test(arguments: 0..<4) func `Random stacks keep the rules with each seed`(part: UInt64) {
        var reach = [Int](repeating: 0, count: 9)
        for seed in stride(from: part, to: Footprint.isSoak ? 1_000_000 : 10_000, by: 4) {
            let (violations, history) = TrafficRun(seed: seed).outcome()
            reach = zip(reach, history.reach).map(+)
            if seed % 200 < 4 {
                let again = TrafficRun(seed: seed).outcome().history
                #expect(again.calls == history.calls && again.exchanges == history.exchanges, "seed \(seed)")
            }
            guard violations.isEmpty else {
                Issue.record("seed \(seed): \(violations.joined(separator: "; "))")
                return
            }
        }
        // A rule says nothing about a run in which nothing happens.
        #expect(reach.allSatisfy { $0 > 100 }, "\(reach)")
    }

    @Test(arguments: Mistake.all) func `A planted mistake is found, and its seed repeats it`(mistake: Mistake) throws {
        for seed in 0..<UInt64(10_000) {
            let run = TrafficRun(seed: seed, stack: mistake.stack, mistake: mistake.plant)
            let violations = run.outcome().violations
            guard !violations.isEmpty else { continue }
            #expect(run.outcome().violations == violations)
            #expect(TrafficRun(seed: seed, stack: mistake.stack).outcome().violations == [])
            return
        }
        Issue.record("no seed finds it")
    }
}
