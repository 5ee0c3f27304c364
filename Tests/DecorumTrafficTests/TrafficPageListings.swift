import Decorum
import DecorumTesting
import DecorumTraffic
import Foundation
import HTTPTypes

// Each listing stands in a comment or on the page of the module, word for word.

private func stacks() throws {
    do {
        let connection = try StandardStack(.server, for: "https://api.example.com/").composed(
            principal: Principal("service"), adding: .traffic(.server) + [.hedging()])
        print(connection)
    }
    do {
        let limiter = RequestLimiter()
        let connection = try StandardStack(.app, for: "https://api.example.com/").composed(
            adding: [.waitingForNetwork(), .limiting(in: limiter)])
        limiter.suspend("images")
        print(limiter.snapshot)
        limiter.cancelAll(reason: "the user has signed out")
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

private func compared() throws {
    let naive = try simulate(against: .brownOut, clients: 1000) { transport, clock, generator in
        transport
            .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
            .retrying(RetryPolicy(budget: .unlimited), clock: clock, generator: generator)
    }
    let ours = try simulate(against: .brownOut, clients: 1000) { transport, clock, generator in
        transport
            .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
            .limiting(.adaptive, clock: clock)
            .breakingCircuits(clock: clock, generator: generator)
            .retrying(clock: clock, generator: generator)
    }
    print(SimulationReport.table(["retries alone": naive, "ours": ours]))
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
