import Decorum
import DecorumTesting
import DecorumTraffic
import Foundation
import Testing

/// The figures of `retrying` as it is, beside a client without retries and one whose retries have no budget.
@Suite(.timeLimit(.minutes(5))) struct SimulationFigureTests {
    private static let isSoak = ProcessInfo.processInfo.environment["DECORUM_SOAK"] != nil

    private func report(_ scenario: Scenario, _ clients: Int, seed: UInt64, _ policy: RetryPolicy) throws
        -> SimulationReport
    {
        try simulate(against: scenario, clients: clients, seed: seed) { transport, clock, generator in
            transport
                .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
                .retrying(policy, clock: clock, generator: generator)
        }
    }

    @Test(arguments: [Scenario.stop, .brownOut], [1, 10, 1000])
    func `Retries of up to 1,000 clients add half a request to a call, and the server is well again within 15 seconds`(
        scenario: Scenario, clients: Int
    ) throws {
        for seed in 1...UInt64(Self.isSoak ? 20 : 1) {
            let report = try report(scenario, clients, seed: seed, .standard)
            #expect(report.inTrouble.requestsPerCall <= 1.5, "\(report)")
            #expect(report.recovery ?? .seconds(999) <= .seconds(15), "\(report)")
            #expect(report.peakRate <= 240, "\(report)")
        }
    }

    @Test(.enabled(if: isSoak), arguments: [(Scenario.stop, 2.0), (.brownOut, 1.8)])
    func `100,000 clients with a call every 20 minutes retry each call about once`(scenario: Scenario, limit: Double)
        throws
    {
        let report = try report(scenario, 100_000, seed: 1, .standard)
        #expect(report.inTrouble.requestsPerCall <= limit, "\(report)")
        #expect(report.recovery ?? .seconds(999) <= .seconds(15), "\(report)")
    }

    @Test func `Without a budget, the retries of 1,000 clients keep a slow server down`() throws {
        let naive = try report(.brownOut, 1000, seed: 1, RetryPolicy(budget: .unlimited))
        #expect(naive.inTrouble.requestsPerCall > 3.5 && naive.recovery == nil && naive.afterwards.goodShare < 0.05)
        let none = try report(.brownOut, 1000, seed: 1, .never)
        #expect(none.inTrouble.requestsPerCall == 1 && none.recovery ?? .seconds(99) <= .seconds(10))
    }

    @Test func `In an overload, a limit keeps the server at work, and important calls come first`() throws {
        let request = { @Sendable (call: Int, client: Int) in
            var request = try Request.get("https://api.example.com/items")
            let isCritical = call.isMultiple(of: 4)
            request.options.routeName = isCritical ? "critical" : "other"
            request.options.priority = isCritical ? .high : .low
            return request
        }
        func report(limits: Bool) throws -> SimulationReport {
            try simulate(against: .overload, clients: 1, sending: request) { transport, clock, _ in
                let attempts = transport.limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
                let limited: any Connection = limits ? attempts.limiting(.adaptive, clock: clock) : attempts
                return limited.limitingTime(TimePolicy(call: .seconds(2)), clock: clock)
            }
        }
        let (naive, ours) = (try report(limits: false), try report(limits: true))
        let goodPerSecond = Double(ours.inTrouble.goodCalls) / 60
        #expect(goodPerSecond >= 90 && ours.routes["critical"]?.goodShare ?? 0 >= 0.99)
        #expect(Double(naive.inTrouble.goodCalls) / 60 < 50)
    }
}
