import Decorum
import DecorumTestSupport
import DecorumTesting
import Testing

/// Fleets of clients whose requests are retried and have no other layer, over a server in trouble, in virtual time.
@Suite(.timeLimit(.minutes(Footprint.isSoak ? 60 : 5))) struct FleetTests {
    @Test(arguments: [
        (Scenario.brownOut, 1, 1.1), (.brownOut, 10, 1.1), (.brownOut, 1000, 1.5), (.brownOut, 100_000, 1.8),
        (.stop, 1000, 1.5),
    ])
    func `A fleet with the defaults lets its server recover`(scenario: Scenario, clients: Int, requests: Double) throws
    {
        for seed in (Footprint.isSoak ? 1...20 : 1...1) as ClosedRange<UInt64> {
            let report = try report(of: .standard, against: scenario, clients: clients, seed: seed)
            #expect(report.inTrouble.requestsPerCall <= requests, "\(report)")
            #expect(try #require(report.recovery) <= .seconds(15), "\(report)")
        }
    }

    @Test func `Retries without a budget keep a slow server down for ever`() throws {
        let report = try report(of: RetryPolicy(budget: .unlimited), against: .brownOut, clients: 1000, seed: 1)
        #expect(report.inTrouble.requestsPerCall > 3)
        #expect(report.recovery == nil)
    }

    private func report(
        of policy: RetryPolicy, against scenario: Scenario, clients: Int, seed: UInt64
    ) throws -> SimulationReport {
        try simulate(against: scenario, clients: clients, seed: seed) { transport, clock, generator in
            transport
                .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
                .retrying(policy, clock: clock, generator: generator)
        }
    }
}
