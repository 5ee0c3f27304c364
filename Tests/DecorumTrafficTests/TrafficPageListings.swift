import Decorum
import DecorumTesting
import DecorumTraffic

private func server() throws -> any Connection {
    let connection = try StandardStack(.server, for: "https://api.example.com/").composed(
        principal: Principal("service"), adding: .traffic(.server) + [.hedging()])
    return connection
}

private func steered() throws -> any Connection {
    let limiter = RequestLimiter()
    let connection = try StandardStack(.app, for: "https://api.example.com/").composed(
        adding: [.waitingForNetwork(), .limiting(in: limiter)])
    limiter.suspend("images")
    print(limiter.snapshot)
    limiter.cancelAll(reason: "the user has signed out")
    return connection
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

extension RequestGroup {
    static let images: RequestGroup = "images"
}
