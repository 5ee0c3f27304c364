import Decorum
import DecorumTesting
import Testing

@Suite(.timeLimit(.minutes(3))) struct SimulationReportTests {
    @Test func `A report sums up the calls, and its table names the seed`() throws {
        let report = try simulate(against: .stop, clients: 3, seed: 7) { transport, _, _ in transport }
        #expect(report.all.calls == report.seconds.reduce(0) { $0 + $1.calls })
        #expect(report.inTrouble.calls == report.seconds[40..<60].reduce(0) { $0 + $1.calls })
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

    @Test func `A seed gives the same report each time, and another seed another one`() throws {
        let reports = try [1, 1, 2].map { seed in
            try simulate(against: .lonelyFailures, clients: 10, seed: seed) { transport, clock, generator in
                transport.retrying(clock: clock, generator: generator)
            }
        }
        #expect(reports[0] == reports[1] && reports[0].seconds != reports[2].seconds)
        #expect(reports[0].all.goodShare > 0.999 && reports[0].inTrouble.calls == 0 && reports[0].recovery == nil)
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

    @Test func `The error of a closure and a client that waits in real time end a simulation`() {
        #expect(throws: StubExhaustedError.self) {
            try simulate(against: .steady) { _, _, _ in throw StubExhaustedError(method: .get) }
        }
        #expect(throws: SimulationError.self) {
            try simulate(against: .lonelyFailures) { transport, _, _ in transport.retrying() }
        }
    }
}
