import Decorum
import DecorumTesting
import Testing

/// The listings of the documentation of simulations.
@Suite(.timeLimit(.minutes(3))) struct SimulationListings {
    @Test func clock() throws {
        let clock = SimulatedClock()
        let waited = try clock.run {
            let start = clock.now
            try await clock.sleep(until: start + .seconds(3600), tolerance: nil)
            return clock.now - start
        }

        #expect(waited == .seconds(3600))
    }

    @Test func network() throws {
        let clock = SimulatedClock()
        let network = SimulatedNetwork(.brownOut, clock: clock, generator: SeededGenerator(seed: 1))
        let stack = SimulatedTransport(network).retrying(clock: clock)
        let response = try clock.run { try await stack.send(.get("https://api.example.com/")) }

        #expect(response.status == .ok)
    }

    @Test func simulation() throws {
        let report = try simulate(against: .brownOut, clients: 1000, seed: 1) { transport, clock, generator in
            transport
                .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
                .retrying(clock: clock, generator: generator)
        }
        print(report)

        #expect(report.recovery != nil)
    }

    @Test func server() {
        var slow = SimulatedServer()
        slow.work = .fixed(.milliseconds(33))

        #expect(slow.capacity < 31)
    }

    @Test func scenario() {
        var server = SimulatedServer()
        server.losses = 0.3
        let scenario = Scenario(named: "a bad line", trouble: server)

        #expect(scenario.trouble == .seconds(40) ..< .seconds(60))
    }
}
