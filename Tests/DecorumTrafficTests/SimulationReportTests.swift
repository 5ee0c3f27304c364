import Decorum
import DecorumTestSupport
import DecorumTesting
import DecorumTraffic
import Testing

@Suite(.timeLimit(.minutes(3))) struct SimulationReportTests {
    @Test func `A report sums up the calls, and its table names the seed`() throws {
        let report = try simulate(against: .stop, clients: 3, seed: 7) { transport, _, _ in transport }
        #expect(
            report.description == """
                stop, 3 clients, seed 7
                                        calls  requests/call           good            p50            p99
                in all                  11292           1.00         86.2 %        0.027 s        0.127 s
                in trouble               1544           1.00          0.0 %        0.000 s        0.000 s
                afterwards               6456           1.00        100.0 %        0.026 s        0.115 s
                95 % good again after 0 s; at most 106 requests in a second
                """)
    }

    @Test func `Calls are told apart by their route, and reports stand side by side`() throws {
        let request = { @Sendable (call: Int, client: Int) in
            var request = try Request.get("https://api.example.com/items")
            request.options.routeName = call.isMultiple(of: 4) ? "critical" : "other"
            return request
        }
        let report = try simulate(against: .brownOut, clients: 2, sending: request) { transport, clock, _ in
            transport.limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
        }
        #expect(report.routes.keys.sorted() == ["critical", "other"])
        #expect(report.routes["critical"]?.calls == (report.all.calls + 3) / 4)
        #expect(report.routes.values.reduce(0) { $0 + $1.requests } == report.all.requests)
        let rows = SimulationReport.table(["first": report, "second": report]).split(separator: "\n")
        #expect(rows.count == 3 && rows[1].dropFirst(6) == rows[2].dropFirst(6))
    }
}

/// The figures of the recommended client.
@Suite(.timeLimit(.minutes(Footprint.isSoak ? 60 : 5))) struct SimulationFigureTests {
    @Test(arguments: [Scenario.stop, .brownOut], Footprint.isSoak ? [1, 10, 1000, 100_000] : [1, 10, 1000])
    func `A stop or a brown-out costs 1.5 requests a call, 1.8 for 100,000 clients, and is over after 15 s`(
        scenario: Scenario, clients: Int
    ) throws {
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
    func `After a pause that a server asked for, 500 requests take at most 1.5 times as long`(workers: Int) throws {
        let server = SimulatedServer { ($0.workers, $0.queueLimit) = (workers, 500) }
        let asking = SimulatedServer { $0.answer = .refuses(503, retryAfter: .seconds(2)) }
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
