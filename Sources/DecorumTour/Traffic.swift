import Decorum
import DecorumTesting
import DecorumTraffic
import Foundation

extension Step {
    static let outage = Step(
        title: "Ninety seconds of trouble, and what one client does about it, in simulated time",
        look:
            "A second request for a slow answer, the wait for the network, the pause, and the circuit that opens and closes.",
        code:
            "StandardStack(.server).composed(adding: .traffic(.server) + [.hedging(), .waitingForNetwork(on: network)])"
    ) { stage in
        let clock = SimulatedClock()
        let network = SettableNetwork()
        let events = try clock.run { try await Self.events(on: clock, network) }
        var shown: [String: Duration] = [:]
        for event in events {
            // Of the same news, one line within ten seconds.
            guard shown[event.news].map({ event.time - $0 > .seconds(10) }) ?? true else { continue }
            shown[event.news] = event.time
            stage.terminal.app("\(event.time.components.seconds) s  \(event.text)")
        }
        let news = Set(shown.keys)
        for expected in [
            "hedging resends", "waitingForNetwork waits", "pacing waits", "breakingCircuits opens",
            "breakingCircuits gives up", "breakingCircuits closes",
        ] { try stage.check(news.contains(expected), "the timeline has: \(expected)") }
    }

    static let fleet = Step(
        title: "A server is slow for 20 seconds; 1,000 clients keep it down, or let it recover",
        look: "Requests for a call, and the time until 95 % of the calls end well again.",
        code: "try simulate(against: .brownOut, clients: 1000) { transport, clock, generator in … }"
    ) { stage in
        let naive = try simulate(against: .brownOut, clients: 1000, through: Self.naive)
        let ours = try simulate(against: .brownOut, clients: 1000, through: Self.ours)
        stage.terminal.text(lines: SimulationReport.table(["retries alone": naive, "ours": ours]))
        var stop = Scenario.stop
        stop.length = .seconds(70)
        let stopped = try simulate(against: stop, clients: 1000, through: Self.ours)
        stage.terminal.text(lines: SimulationReport.table(["ours at a stop": stopped]))
        for report in [ours, stopped] {
            try stage.check(report.inTrouble.requestsPerCall <= 1.5, "a call of ours costs at most 1.5 requests")
            try stage.check(report.recovery.map { $0 <= .seconds(15) } ?? false, "ours lets the server recover")
        }
        let shares = try [Self.naive, Self.ours].map { try Self.goodShares(inOverload: $0) }
        for (name, share) in zip(["retries alone", "ours"], shares) {
            let percent = [share.capacity, share.critical].map { "\(Int(($0 * 100).rounded())) %" }
            stage.terminal.text(
                "At twice its load, \(name): \(percent[0]) of what it can answer are good answers, and "
                    + "\(percent[1]) of the critical calls get one.")
        }
        try stage.check(shares[1].capacity >= 0.9 && shares[1].critical >= 0.99, "limits keep the server at work")
    }

    @Sendable private static func naive(
        over transport: SimulatedTransport, on clock: SimulatedClock, _ generator: SeededGenerator
    ) -> any Connection {
        transport
            .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
            .retrying(RetryPolicy(budget: .unlimited), clock: clock, generator: generator)
    }

    @Sendable private static func ours(
        over transport: SimulatedTransport, on clock: SimulatedClock, _ generator: SeededGenerator
    ) throws -> any Connection {
        var settings = StandardStack(.server, for: "https://api.example.com/")
        settings.attemptTime = AttemptTimePolicy(.seconds(1))
        return try settings.composed(
            over: transport, principal: Principal("service"),
            adding: .traffic(.server, clock: clock, generator: generator) + [.hedging(clock: clock)],
            clock: clock, generator: generator)
    }

    /// The good answers of a server during twice its load, as a share of what it can give, and of those to critical calls.
    private static func goodShares(
        inOverload stack:
            @escaping @Sendable (SimulatedTransport, SimulatedClock, SeededGenerator) throws -> any Connection
    ) throws -> (capacity: Double, critical: Double) {
        let phases = [Scenario.Phase(from: .zero), .init(from: .seconds(4), rate: 200)]
        let scenario = Scenario(named: "overload", phases: phases, length: .seconds(14))
        let request: @Sendable (Int, Int) throws -> Request = { call, _ in
            var request = try Request.get("https://api.example.com/items")
            request.options.priority = call % 5 == 0 ? .high : .medium
            request.options.routeName = call % 5 == 0 ? "critical" : "other"
            return request
        }
        let report = try simulate(against: scenario, clients: 1, sending: request, through: stack)
        let answers = report.seconds[8..<14].reduce(0) { $0 + $1.goodAnswers }
        return (Double(answers) / (6 * SimulatedServer().capacity), report.routes["critical"]?.goodShare ?? 0)
    }

    private struct Event: Sendable {
        let time: Duration
        let news: String
        let text: String
    }

    /// The decisions about two calls in each second, to a server with slow answers, a pause from 25 s on, and a stop at 45 s.
    private static func events(on clock: SimulatedClock, _ network: SettableNetwork) async throws -> [Event] {
        var usual = SimulatedServer()
        usual.work = SimulatedDelay(mean: .milliseconds(20), stragglers: 0.05, stragglerFactor: 20)
        var (asking, stopped) = (usual, usual)
        asking.answer = .refuses(503, retryAfter: .seconds(5))
        stopped.answer = .stopped
        let servers = [(0, usual), (25, asking), (27, usual), (45, stopped), (65, usual)]
        let scenario = Scenario(
            named: "trouble", phases: servers.map { .init(from: .seconds($0), rate: 2, server: $1) },
            length: .seconds(90))
        let transport = SimulatedTransport(
            SimulatedNetwork(scenario, clock: clock, generator: SeededGenerator(seed: 7)))
        let generator = SeededGenerator(seed: 8)
        let connection = try StandardStack(.server, for: "https://api.example.com/").composed(
            over: transport,
            adding: .traffic(.server, clock: clock, generator: generator) + [
                .hedging(HedgingPolicy(percentile: 0.9), clock: clock),
                .waitingForNetwork(on: network, clock: clock, generator: generator),
            ], clock: clock, generator: generator)
        return try await withThrowingTaskGroup(of: [Event].self) { calls in
            for number in 0..<180 {
                try await clock.sleep(until: clock.now + .milliseconds(500), tolerance: nil)
                if number == 30 { network.set(.unreachable) }
                if number == 36 { network.set(.reachable) }
                calls.addTask {
                    var request = try Request.get("feed")
                    let context = CallContext(keepingHistory: 20)
                    request.options.callContext = context
                    // The outcome is in the history.
                    _ = try? await connection.send(request)
                    return context.history.filter { $0.layer != "transport" }.map { decision in
                        Event(time: clock.time, news: "\(decision.layer) \(decision.kind)", text: "\(decision)")
                    }
                }
            }
            return try await calls.reduce(into: []) { $0 += $1 }.sorted { $0.time < $1.time }
        }
    }
}
