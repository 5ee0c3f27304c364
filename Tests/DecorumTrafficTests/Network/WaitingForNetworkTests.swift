import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3))) struct WaitingForNetworkTests {
    private let clock = VirtualClock()
    private let network = SettableNetwork(.unreachable)
    private let stub = StubConnection { _ in Response(status: .ok) }
    private let call = CallContext(keepingHistory: 10)

    private func connection(_ policy: NetworkWaitPolicy = .standard) -> some Connection {
        stub.waitingForNetwork(policy, on: network, clock: clock, generator: SeededGenerator(seed: 1))
    }

    private func request(_ url: String = "https://a.example/", within time: Duration? = nil) throws -> Request {
        try Request.get(url, deadline: time.map { clock.now + $0 }, in: call)
    }

    private static let expensive = NetworkState(kind: .wifi, isExpensive: true)
    private static let constrained = NetworkState(isConstrained: true)
    private static let cellular = NetworkState(kind: .cellular)
    private static let strict = NetworkWaitPolicy(allowsExpensive: false, allowsConstrained: false)
    private static let endless = NetworkWaitPolicy(longestWait: .seconds(Int64.max), spread: .seconds(Int64.max))

    @Test(
        arguments: [
            (NetworkState(isCaptive: false), .standard, nil, nil), (.unreachable, .standard, nil, .unreachable),
            (NetworkState(isCaptive: true), .standard, nil, .captive), (expensive, .standard, nil, nil),
            (expensive, strict, nil, .forbidden), (expensive, .standard, false, .forbidden),
            (expensive, strict, true, nil), (constrained, .standard, nil, nil), (constrained, strict, nil, .forbidden),
            (constrained, .standard, false, .forbidden), (constrained, strict, true, nil),
            (cellular, .standard, false, .forbidden), (NetworkState(kind: .wifi), .standard, false, nil),
            (NetworkState(isExpensive: true, isCaptive: true), .standard, false, .forbidden),
        ] as [(NetworkState, NetworkWaitPolicy, Bool?, NetworkObstacle?)])
    func `A network suits a request, or has an obstacle`(
        state: NetworkState, policy: NetworkWaitPolicy, wish: Bool?, obstacle: NetworkObstacle?
    ) {
        var options = RequestOptions()
        if state.isExpensive { options.allowsExpensiveNetworkAccess = wish }
        if state.isConstrained { options.allowsConstrainedNetworkAccess = wish }
        if !state.isExpensive, !state.isConstrained { options.allowsCellularAccess = wish }
        #expect(policy.obstacle(in: state, for: options) == obstacle)
    }

    @Test(arguments: [NetworkWaitPolicy.standard, endless])
    func `M45: A request waits for the network, tells it, and is sent in a random part of a second after it is back`(
        policy: NetworkWaitPolicy
    ) async throws {
        async let response = connection(policy).send(request(within: .seconds(60)))
        // The network goes again before the request is sent.
        for round in 0..<3 {
            try await yield { call.history.count == 2 * round + 1 }
            network.set(NetworkState(kind: .wifi))
            try await yield { call.history.count == 2 * round + 2 && clock.pendingSleeps.count == 1 }
            if round < 2 { network.set(.unreachable) }
            clock.advance(by: clock.pendingSleeps[0])
        }
        #expect(try await response.status == .ok && stub.requests.count == 1)
        #expect(stub.requests.first?.options.networkState == NetworkState(kind: .wifi))
        #expect(call.history.first?.words == "waits: there is no network")
        let pauses = Set(call.history.prefix(6).filter { $0.kind == .waits }.compactMap(\.delay))
        // It comes back before half of the time that is left.
        #expect(pauses.count == 3 && pauses.allSatisfy { $0 < .seconds(policy == .standard ? 1 : 30) })
        let layer = connection(policy).layers[0]
        #expect(layer.time.waiting == .atMost(policy == .standard ? .seconds(21) : .longest * 2))
        #expect(layer.role == .resilience)
    }

    @Test(
        arguments: [
            ("http://localhost:8080/", .standard), ("http://127.0.0.1/", .standard), ("http://[::1]/", .standard),
            ("https://a.example/", .never), ("https://a.example/", NetworkWaitPolicy(longestWait: .seconds(-1))),
        ] as [(String, NetworkWaitPolicy)])
    func `A request to this machine never waits, nor one whose policy says so`(
        url: String, policy: NetworkWaitPolicy
    ) async throws {
        #expect(try await connection(policy).send(request(url)).status == .ok)
        #expect(call.history.allSatisfy { $0.layer != "waitingForNetwork" })
    }

    @Test(
        arguments: [
            (.unreachable, nil, 20, nil), (expensive, 60, 0, "only a network that the request may not use for 0.0 ms."),
            (expensive, nil, 20, "only a network that the request may not use for 20.00 s. Send it later, or allow it"),
            (.unreachable, 5, 5, "no network for 5.00 s. Send it again when there is a network."),
            (NetworkState(isCaptive: true), 5, 5, "only a captive portal for 5.00 s."),
        ] as [(NetworkState, Int?, Int, String?)])
    func `A request fails at its deadline, and is sent after the longest wait unless the network is forbidden`(
        state: NetworkState, deadline: Int?, wait: Int, words: String?
    ) async throws {
        network.set(state)
        var request = try request(within: deadline.map { .seconds($0) })
        request.options.networkWaitPolicy = NetworkWaitPolicy(
            longestWait: .seconds(wait == 0 ? 0 : 20), allowsExpensive: false)
        let response = Task { [request] in try await connection().send(request) }
        if wait > 0 { try await clock.waitForSleepers() }
        clock.advance(by: .seconds(wait))

        if let words {
            let error = try await #require(throws: NetworkWaitError.self) { try await response.value }
            #expect("\(error)".hasPrefix("The request to a.example:443 was not sent, because there was \(words)"))
            #expect(error.meansServerNotReached && error.mayPass && error.meansNotProcessed && error.state == state)
        } else {
            // The monitor may be wrong.
            #expect(try await response.value.status == .ok && stub.requests[0].options.networkState == state)
        }
        let kinds: [CallDecision.Kind] = [.waits, words == nil ? .forwards : .givesUp]
        #expect(call.history.prefix(2).map(\.kind) == (wait > 0 ? kinds : [.givesUp]))
        #expect(stub.requests.count == (words == nil ? 1 : 0))
    }

    @Test func `M106: The event of an attempt shows the network, and that of a call does not`() async throws {
        network.set(Self.cellular)
        let networks = Monitor<[NetworkState?]>([])
        let note: @Sendable (CallReport) -> Void = { event in networks.update { $0.append(event.network) } }
        _ = try await stub.observing(as: .attempt, clock: clock, note)
            .waitingForNetwork(on: network, clock: clock)
            .observing(clock: clock, note)
            .send(request()).body.data(upTo: 10)
        #expect(networks.state == [Self.cellular, nil])
    }

    @Test(
        arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "It refuses only at a deadline.")
            .excluding(.declaredTimes, because: "Two requests of one case wait one after the other."),
        [NetworkState.reachable, .unreachable])
    func `The layer keeps the laws of decorators, also if each request waits`(
        law: DecoratorLaw, state: NetworkState
    ) async throws {
        try await law.check { base, conditions in
            base.waitingForNetwork(on: FixedNetwork(state), clock: conditions.clock)
        }
    }

    @Test func `M105: A reader gets the state now, and a slow one the newest`() async {
        let network = SettableNetwork()
        var states = network.states().makeAsyncIterator()
        #expect(await states.next() == .reachable && network.isConnected)
        for state in [.reachable, .unreachable, NetworkState(kind: .wifi)] { network.set(state) }
        #expect(await states.next() == NetworkState(kind: .wifi))
    }
}
