import Decorum
import DecorumTesting
import DecorumTraffic
import Foundation
import HTTPTypes
import Testing

// Each listing stands in a comment or on the page of the module or of simulations, word for word.

private func stacks() throws {
    do {
        let connection = try StandardStack(.server, for: "https://api.example.com/").composed(
            principal: Principal("service"), adding: .traffic(.server) + [.hedging()])
        print(connection)
    }
    let limiter = RequestLimiter()
    let connection = try StandardStack(.app, for: "https://api.example.com/").composed(
        adding: [.waitingForNetwork(), .limiting(in: limiter)])
    limiter.suspend("images")
    print(limiter.snapshot)
    limiter.cancelAll(reason: "the user has signed out")
    print(connection)
}

private func limits(_ request: inout Request) {
    let limits = Limits(.fixed(4), rate: .init(20, per: .seconds(1)))
    print(limits)
    request.options.setLowPriority(in: "prefetch")
    do {
        let connection = SystemConnection()
            .limiting(LimitPolicy(Limits(.fixed(6)), groups: ["images": Limits(.fixed(2))]))
            .retrying()
        print(connection)
    }
    let limiter = RequestLimiter()
    let connection = SystemConnection()
        .limiting(.standard, in: limiter)

    limiter.suspend("images")
    limiter.cancelAll(reason: "the user has signed out")
    limiter.resume("images")
    print(limiter.snapshot)
    print(connection)
}

private func circuits() {
    do {
        let connection = SystemConnection()
            .breakingCircuits(CircuitPolicy(opensAfter: .ratio(0.5, ofAtLeast: 20, within: .seconds(30))))
            .retrying()
        print(connection)
    }
    do {
        let breakers = CircuitBreakers { circuit in print(circuit) }
        let connection = SystemConnection()
            .breakingCircuits(in: breakers)
        print(connection)
    }
    let connection = SystemConnection()
        .hedging(HedgingPolicy(percentile: 0.95, largestShare: 0.05))
        .retrying()
    print(connection)
}

private func routes(_ replica: any Connection) throws {
    do {
        let connection = SystemConnection()
            .routing(byGroup: ["uploads": URLSessionConnection(connectionsPerHost: 1)])
        print(connection)
    }
    do {
        let connection = SystemConnection()
            .routing(by: { $0.head.method == .get ? "replica" : nil }, to: ["replica": replica])
        print(connection)
    }
    do {
        let connection = try SystemConnection()
            .retrying()
            .fallingBack(to: .origin(Origin("https://eu.example.com")), .response(Response(status: .ok, body: "[]")))
            .limitingTime()
        print(connection)
    }
    let connection = SystemConnection()
        .injectingFaults(
            .delay(.milliseconds(50)...(.milliseconds(400))), .bandwidth(100_000), .loss(rate: 0.02),
            .status(.serviceUnavailable, rate: 0.05), generator: SeededGenerator(seed: 7)
        )
        .retrying()
    print(connection)
}

private func served(_ origin: LoopbackOrigin, since date: Date) -> any Connection {
    let content = ServedContent("0123456789", lastModified: date)
    origin.route(.get, "/file", .serving(content))
    let stub = StubConnection(serving: content)
    return stub
}

private func waiting(_ request: inout Request) throws {
    request.options.networkWaitPolicy = NetworkWaitPolicy(longestWait: .seconds(3600), allowsExpensive: false)
    do {
        let network = SystemNetwork()
        let connection = SystemConnection()
            .waitingForNetwork(on: network)
            .retrying()
            .limitingTime()
        print(connection)
    }
    let network = try ProbedNetwork(SystemNetwork(), asking: "http://probe.example.com/empty")
    let connection = SystemConnection().waitingForNetwork(on: network).retrying()
    print(connection)
}

private func watching(offlineBadge: inout (isHidden: Bool, name: String)) async {
    do {
        let network = SettableNetwork(.unreachable)
        network.set(.reachable)
    }
    let network = SystemNetwork()
    for await state in network.states() { offlineBadge.isHidden = state.isReachable }
}

extension RequestGroup {
    static let images: RequestGroup = "images"
}

/// The client of a server, and its outage.
func compared() throws -> (naive: SimulationReport, ours: SimulationReport) {
    var settings = StandardStack(.server, for: "https://api.example.com/")
    settings.attemptTime = AttemptTimePolicy(.seconds(1))
    let connection = try settings.composed(
        principal: Principal("service"), adding: .traffic(.server) + [.hedging()])
    print(connection)
    let naive = try simulate(against: .brownOut, clients: 1000) { transport, clock, generator in
        transport
            .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
            .retrying(RetryPolicy(budget: .unlimited), clock: clock, generator: generator)
    }
    let ours = try simulate(against: .brownOut, clients: 1000) { [settings] transport, clock, generator in
        try settings.composed(
            over: transport, principal: Principal("service"),
            adding: .traffic(.server, clock: clock, generator: generator) + [.hedging(clock: clock)],
            clock: clock, generator: generator)
    }
    print(SimulationReport.table(["retries alone": naive, "ours": ours]))
    return (naive, ours)
}

@Suite(.timeLimit(.minutes(3))) struct SimulationListings {
    @Test func `An hour passes at once, and simulated servers answer`() throws {
        var slow = SimulatedServer()
        slow.work = .fixed(.milliseconds(33))
        var server = SimulatedServer()
        server.losses = 0.3
        let scenario = Scenario(named: "a bad line", trouble: server)
        #expect(slow.capacity < 31 && scenario.trouble == .seconds(40) ..< .seconds(60))
        do {
            let clock = SimulatedClock()
            let waited = try clock.run {
                let start = clock.now
                try await clock.sleep(until: start + .seconds(3600), tolerance: nil)
                return clock.now - start
            }
            #expect(waited == .seconds(3600))
        }
        do {
            let clock = SimulatedClock()
            let network = SimulatedNetwork(.brownOut, clock: clock, generator: SeededGenerator(seed: 1))
            let stack = SimulatedTransport(network).retrying(clock: clock)
            let response = try clock.run { try await stack.send(.get("https://api.example.com/")) }
            #expect(response.status == .ok)
        }
        let report = try simulate(against: .brownOut, clients: 1000, seed: 1) { transport, clock, generator in
            transport
                .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
                .retrying(clock: clock, generator: generator)
        }
        print(report)
        #expect(report.recovery != nil)
    }
}
