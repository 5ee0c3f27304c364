import Decorum
import DecorumTestSupport
import DecorumTesting
import DecorumTraffic
import Testing

/// The figures of the recommended client.
@Suite(.timeLimit(.minutes(Footprint.isSoak ? 60 : 5))) struct SimulationFigureTests {
    @Test(arguments: [Scenario.stop, .brownOut], Footprint.isSoak ? [1, 10, 1000, 100_000] : [1, 10, 1000])
    func
        `A stop or a brown-out costs 1.5 requests a call up to 1,000 clients and 1.8 at 100,000, and is over after 15 s`(
            scenario: Scenario, clients: Int
        ) throws
    {
        for seed in 1...(Footprint.isSoak ? clients > 1000 ? 3 : 20 : 1) as ClosedRange<UInt64> {
            let report = try simulate(against: scenario, clients: clients, seed: seed) { transport, clock, generator in
                transport
                    .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
                    .limiting(.adaptive, clock: clock)
                    .breakingCircuits(CircuitPolicy(longestBreak: .seconds(10)), clock: clock, generator: generator)
                    .retrying(.fleet(generator: generator), clock: clock, generator: generator)
            }
            #expect(report.inTrouble.requestsPerCall <= (clients > 1000 ? 1.8 : 1.5), "\(report)")
            #expect(report.recovery ?? .seconds(999) <= .seconds(15), "\(report)")
            #expect(report.peakRate <= 240, "\(report)")
        }
    }

    @Test(arguments: [1, 10, 40])
    func `After a pause that a server asked for, 500 requests at once take at most 1.5 times as long`(workers: Int)
        throws
    {
        var server = SimulatedServer()
        (server.workers, server.queueLimit) = (workers, 500)
        var asking = server
        asking.answer = .refuses(503, retryAfter: .seconds(2))
        // The time from the first of the requests that is sent to the last answer.
        func time(of scenario: Scenario) throws -> Duration {
            let clock = SimulatedClock()
            let network = SimulatedNetwork(scenario, clock: clock, generator: SeededGenerator(seed: 1))
            let start = Monitor<Duration?>(nil)
            let stack = SimulatedTransport(network)
                .intercepting { request, base in
                    if clock.time >= .seconds(1) { start.update { $0 = $0 ?? clock.time } }
                    return try await base.send(request)
                }
                .pacing(clock: clock, generator: SeededGenerator(seed: 2))
            return try clock.run {
                let request = try Request.get("https://api.example.com/items")
                _ = try await stack.send(request)
                try await clock.sleep(for: .seconds(1))
                let calls = (0..<500).map { _ in Task { try await stack.send(request).status } }
                for call in calls { #expect(try await call.value == .ok) }
                return try clock.time - #require(start.state)
            }
        }
        let healthy = Scenario.Phase(from: .milliseconds(500), server: server)
        let paused = try time(of: Scenario(named: "pause", phases: [.init(from: .zero, server: asking), healthy]))
        let alone = try time(of: Scenario(named: "no pause", phases: [healthy]))
        #expect(paused <= alone * 1.5)
    }
}
