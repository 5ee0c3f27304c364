import Decorum
import DecorumTraffic
import HTTPTypes

private final class Badge {
    var isHidden = true
}

private func watching(offlineBadge: Badge) async {
    let network = SystemNetwork()
    for await state in network.states() { offlineBadge.isHidden = state.isReachable }
}

private func waiting() -> any Connection {
    let network = SystemNetwork()
    let connection = SystemConnection()
        .waitingForNetwork(on: network)
        .retrying()
        .limitingTime()
    return connection
}

private func waitingLong(_ request: inout Request) {
    request.options.networkWaitPolicy = NetworkWaitPolicy(longestWait: .seconds(3600), allowsExpensive: false)
}

private func probing() throws -> any Connection {
    let probe = try CaptivePortalProbe("http://probe.example.com/empty")
    let network = ProbedNetwork(SystemNetwork(), by: probe)
    let connection = SystemConnection().waitingForNetwork(on: network).retrying()
    return connection
}

private func setting() {
    let network = SettableNetwork(.unreachable)
    network.set(.reachable)
}
