import Decorum
import DecorumTraffic

// Each listing stands in a comment of `Limiting` or `Routing`, word for word.

private func limiting() -> any Connection {
    let connection = SystemConnection()
        .limiting(LimitPolicy(Limits(.fixed(6)), groups: ["images": Limits(.fixed(2))]))
        .retrying()
    return connection
}

private func limits() -> Limits {
    let limits = Limits(.fixed(4), rate: .init(20, per: .seconds(1)))
    return limits
}

private func lowPriority(_ request: inout Request) {
    request.options.setLowPriority(in: "prefetch")
}

private func steering() -> any Connection {
    let limiter = RequestLimiter()
    let connection = SystemConnection()
        .limiting(.standard, in: limiter)

    limiter.suspend("images")
    limiter.cancelAll(reason: "the user has signed out")
    limiter.resume("images")
    print(limiter.snapshot)
    return connection
}

private func routingByGroup() -> any Connection {
    let connection = SystemConnection()
        .routing(byGroup: ["uploads": URLSessionConnection(connectionsPerHost: 1)])
    return connection
}

private func routing(_ replica: any Connection) -> any Connection {
    let connection = SystemConnection()
        .routing(by: { $0.head.method == .get ? "replica" : nil }, to: ["replica": replica])
    return connection
}
