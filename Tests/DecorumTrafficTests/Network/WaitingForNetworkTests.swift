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
        var request = try Request.get(url)
        request.options.callContext = call
        request.options.deadline = time.map { clock.now + $0 }
        return request
    }

    private static let expensive = NetworkState(kind: .wifi, isExpensive: true)
    private static let constrained = NetworkState(isConstrained: true)
    private static let strict = NetworkWaitPolicy(allowsExpensive: false, allowsConstrained: false)

    @Test(
        arguments: [
            (.reachable, .standard, Wish(), nil), (.unreachable, .standard, Wish(), .unreachable),
            (NetworkState(isCaptive: true), .standard, Wish(), .captive),
            (NetworkState(isCaptive: false), .standard, Wish(), nil),
            (expensive, .standard, Wish(), nil), (constrained, .standard, Wish(), nil),
            (expensive, strict, Wish(), .expensive), (constrained, strict, Wish(), .constrained),
            (expensive, .standard, Wish(expensive: false), .expensive),
            (expensive, strict, Wish(expensive: true), nil),
            (constrained, .standard, Wish(constrained: false), .constrained),
            (constrained, strict, Wish(constrained: true), nil),
            (NetworkState(kind: .cellular), .standard, Wish(cellular: false), .cellular),
            (NetworkState(kind: .cellular), .standard, Wish(), nil),
            (NetworkState(kind: .wifi), .standard, Wish(cellular: false), nil),
        ] as [(NetworkState, NetworkWaitPolicy, Wish, NetworkObstacle?)])
    func `A network suits a request, or has an obstacle`(
        state: NetworkState, policy: NetworkWaitPolicy, wish: Wish, obstacle: NetworkObstacle?
    ) {
        var options = RequestOptions()
        options.allowsCellularAccess = wish.cellular
        options.allowsExpensiveNetworkAccess = wish.expensive
        options.allowsConstrainedNetworkAccess = wish.constrained
        #expect(policy.obstacle(in: state, for: options) == obstacle)
    }

    struct Wish: Sendable {
        var cellular: Bool?
        var expensive: Bool?
        var constrained: Bool?
    }

    @Test func `A request waits for the network, tells it, and is sent when the network is back`() async throws {
        async let response = connection().send(request())
        try await yield { call.history.count == 1 }
        #expect(stub.requests.isEmpty)
        network.set(NetworkState(kind: .wifi))
        try await clock.waitForSleepers(2)
        let pause = try #require(clock.pendingSleeps.first)
        #expect(pause < .seconds(1))
        clock.advance(by: pause)

        #expect(try await response.status == .ok)
        #expect(call.history.prefix(2).map(\.kind) == [.waits, .waits])
        #expect(call.history.first?.words == "waits: there is no network")
        #expect(call.history[1].delay == pause)
        #expect(stub.requests.first?.options.networkState == NetworkState(kind: .wifi))
    }

    @Test func `A network that goes again before the request is sent is waited for again`() async throws {
        async let response = connection().send(request())
        for round in 0..<3 {
            try await yield { call.history.count == 2 * round + 1 }
            network.set(.reachable)
            try await clock.waitForSleepers(2)
            network.set(.unreachable)
            clock.advance(by: try #require(clock.pendingSleeps.first))
        }
        try await yield { call.history.count == 7 }
        #expect(stub.requests.isEmpty)
        network.set(.reachable)
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        #expect(try await response.status == .ok)
    }

    @Test(arguments: ["http://localhost:8080/", "http://127.0.0.1/", "http://[::1]/"])
    func `A request to this machine never waits`(url: String) async throws {
        #expect(try await connection().send(request(url)).status == .ok)
        #expect(call.history.allSatisfy { $0.layer != "waitingForNetwork" })
    }

    @Test func `A request fails at its deadline, and says that nothing was sent`() async throws {
        let response = Task { [request = try request(within: .seconds(5))] in try await connection().send(request) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(5))

        let error = try await #require(throws: NetworkWaitError.self) { try await response.value }
        #expect(error.wait == .seconds(5) && error.meansServerNotReached && error.mayPass && error.meansNotProcessed)
        #expect(
            error.description
                == "The request to a.example:443 was not sent, because there was no network for 5.00 s. "
                + "Send it again when there is one.")
        #expect(call.history.map(\.kind) == [.waits, .givesUp] && stub.requests.isEmpty)
    }

    @Test func `After the longest wait a request is sent all the same, since the monitor may be wrong`() async throws {
        async let response = connection().send(request())
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(20))

        #expect(try await response.status == .ok)
        #expect(stub.requests.first?.options.networkState == .unreachable)
        #expect(call.history.prefix(2).map(\.kind) == [.waits, .forwards])
    }

    @Test func `A request is not sent over a network that it forbids`() async throws {
        network.set(Self.expensive)
        var request = try request()
        request.options.networkWaitPolicy = NetworkWaitPolicy(longestWait: .seconds(30), allowsExpensive: false)
        let response = Task { [request] in try await connection().send(request) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(30))

        let error = try await #require(throws: NetworkWaitError.self) { try await response.value }
        #expect(error.description.contains("only an expensive network for 30.00 s. Send it later"))
        #expect(stub.requests.isEmpty)
        request.options.networkWaitPolicy = .never
        request.options.allowsExpensiveNetworkAccess = false
        await #expect(throws: NetworkWaitError.self) { _ = try await connection().send(request) }
        #expect(clock.pendingSleeps.isEmpty)
    }

    @Test func `A failure while the monitor reports a network goes to the caller`() async throws {
        network.set(.reachable)
        let stub = StubConnection { _ in throw TransportError(.unreachable, at: .connecting) }
        let connection = stub.waitingForNetwork(on: network, clock: clock)
        await #expect(throws: TransportError.self) { _ = try await connection.send(request()) }
        #expect(stub.requests.count == 1 && clock.pendingSleeps.isEmpty)
    }

    @Test func `A retry waits for the network that was lost while its request was sent`() async throws {
        network.set(.reachable)
        let stub = StubConnection(answers: [
            { [network] _ in
                network.set(.unreachable)
                throw TransportError(.unreachable, at: .connecting)
            }, { _ in Response(status: .ok) },
        ])
        let connection = stub.waitingForNetwork(NetworkWaitPolicy(spread: .zero), on: network, clock: clock)
            .retrying(clock: clock)
        async let response = connection.send(request())
        try await clock.waitForSleepers()
        clock.advance(by: .milliseconds(500))
        try await yield { call.history.last?.layer == "waitingForNetwork" }
        #expect(stub.requests.count == 1)
        network.set(.reachable)
        #expect(try await response.metadata.attempts == 2)
        #expect(stub.requests.last?.options.networkState == .reachable)
    }

    @Test func `A signature that waits for the network with its request is found`() {
        let hazards = [
            Signing(base: stub).waitingForNetwork(on: network, clock: clock).findings,
            Signing(base: stub.waitingForNetwork(on: network, clock: clock)).findings,
        ].map { $0.map(\.hazard) }
        #expect(hazards == [[], ["signatureOutsideOfWaits"]])
    }

    private struct Signing<Base: Connection>: ComposedConnection {
        let base: Base
        var layer: Layer {
            Layer(
                name: "signing", role: .authentication,
                facts: [.signs, .addsCredentials, .bindsToOrigins, .variesPerSend])
        }
        func send(_ request: consuming Request) async throws -> Response { try await base.send(request) }
    }

    @Test(arguments: [NetworkWaitPolicy.never, NetworkWaitPolicy(longestWait: .seconds(-1))])
    func `A request that does not wait is sent at once`(policy: NetworkWaitPolicy) async throws {
        _ = try await connection(policy).send(request())
        #expect(stub.requests.count == 1)
    }

    @Test func `Neither a wait nor a spread without an end traps`() async throws {
        let policy = NetworkWaitPolicy(longestWait: .seconds(Int64.max), spread: .seconds(Int64.max))
        async let response = connection(policy).send(request(within: .seconds(10)))
        try await yield { call.history.count == 1 }
        network.set(.reachable)
        try await yield { call.history.count == 2 }
        // It comes back before half of the time that is left.
        clock.advance(by: .seconds(5))
        #expect(try await response.status == .ok)
        #expect(connection(policy).layers.first?.time.waiting == .atMost(.longest * 2))
    }

    @Test func `A cancelled request leaves, and the monitor forgets it`() async throws {
        let task = Task { [connection = connection(), request = try request()] in try await connection.send(request) }
        try await clock.waitForSleepers()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        network.set(.reachable)
        #expect(stub.requests.isEmpty)
    }

    @Test func `A monitor that has ended is waited for no longer than any other`() async throws {
        let connection = stub.waitingForNetwork(on: FixedNetwork(.unreachable), clock: clock)
        let response = Task { [request = try request(within: .seconds(5))] in try await connection.send(request) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(5))
        await #expect(throws: NetworkWaitError.self) { try await response.value }
    }

    @Test func `A thousand requests do not come at once when the network is back`() async throws {
        let connection = connection()
        let tasks = try (0..<1000).map { _ in
            Task { [request = try Request.get("https://a.example/")] in try await connection.send(request).status }
        }
        try await clock.waitForSleepers()
        network.set(.reachable)
        try await clock.waitForSleepers(1001)
        var counts: [Int] = []
        for _ in 0..<10 {
            clock.advance(by: .milliseconds(100))
            try await yield { stub.requests.count == 1001 - clock.pendingSleeps.count }
            counts.append(stub.requests.count - counts.reduce(0, +))
        }
        for task in tasks { #expect(try await task.value == .ok) }
        #expect(counts.reduce(0, +) == 1000 && counts.allSatisfy { (60...140).contains($0) })
    }

    @Test func `The event of an attempt shows the network, and that of a call does not`() async throws {
        network.set(NetworkState(kind: .wired))
        let attempts = Events()
        let calls = Events()
        let connection = stub.observing(attempts, as: .attempt, clock: clock)
            .waitingForNetwork(on: network, clock: clock)
            .observing(calls, clock: clock)
        _ = try await connection.send(request()).body.data(upTo: 10)
        #expect(attempts.events.map(\.network) == [NetworkState(kind: .wired)])
        #expect(calls.events.map(\.network) == [nil])
    }

    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "It refuses only without a network."))
    func `The layer keeps the laws of decorators`(law: DecoratorLaw) async throws {
        try await law.check { base, conditions in
            base.waitingForNetwork(on: FixedNetwork(), clock: conditions.clock)
        }
    }

    private final class Events: CallObserver {
        private let monitor = Monitor<[ExchangeEvent]>([])
        var events: [ExchangeEvent] { monitor.state }
        func ended(_ event: ExchangeEvent) { monitor.update { $0.append(event) } }
    }
}

@Suite(.timeLimit(.minutes(3))) struct SettableNetworkTests {
    @Test func `Each state is kept whole`() {
        for kind in [nil] + NetworkState.Kind.allCases.map(Optional.some) {
            for bits in 0..<24 {
                let state = NetworkState(
                    isReachable: bits & 1 != 0, kind: kind, isExpensive: bits & 2 != 0, isConstrained: bits & 4 != 0,
                    isCaptive: [nil, false, true][bits >> 3])
                #expect(SettableNetwork(state).state == state)
                #expect(SettableNetwork(state).isConnected == state.isReachable)
            }
        }
    }

    @Test func `A reader gets the state now, and a slow one the newest`() async {
        let network = SettableNetwork()
        var states = network.states().makeAsyncIterator()
        #expect(await states.next() == .reachable)
        network.set(.reachable)
        network.set(.unreachable)
        network.set(NetworkState(kind: .wifi))
        #expect(await states.next() == NetworkState(kind: .wifi))
    }

    @Test func `A network is released when its readers have gone`() async {
        weak var network: SettableNetwork?
        do {
            let states = { () -> AsyncStream<NetworkState> in
                let settable = SettableNetwork()
                network = settable
                return settable.states()
            }()
            #expect(network != nil)
            for await state in states {
                #expect(state == .reachable)
                break
            }
        }
        #expect(await soon { network == nil })
    }
}
