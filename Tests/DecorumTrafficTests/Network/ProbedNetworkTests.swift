import Decorum
import DecorumTestSupport
import DecorumTesting
import HTTPTypes
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3))) struct ProbedNetworkTests {
    private let clock = VirtualClock()
    private let network = SettableNetwork()
    private let spawner = TrackingSpawner()

    private func probed(
        _ network: (any NetworkMonitor)? = nil, asking url: String = "http://probe.example/empty",
        over stub: StubConnection
    ) throws -> ProbedNetwork {
        try ProbedNetwork(network ?? self.network, asking: url, over: stub, clock: clock, spawner: spawner)
    }

    @Test(
        arguments: [
            (204, "", false), (204, "x", true), (200, "", true), (302, "", true), (511, "", nil), (500, "", nil),
            (429, "", nil), (404, "", true),
        ] as [(Int, String, Bool?)])
    func `An unexpected answer is one of a portal, unless the server is in trouble`(
        status: Int, content: String, isCaptive: Bool?
    ) async throws {
        let stub = StubConnection { _ in
            Response(status: .init(code: status), fields: [.location: "http://portal.example/"], body: Body(content))
        }
        let probed = try probed(over: stub)
        try await yield { stub.requests.count == 1 && probed.state.isCaptive == isCaptive }
        // The probe carries no credentials, and its answer is neither followed nor kept.
        let request = try #require(stub.requests.first)
        #expect(request.head.headerFields == [.cacheControl: "no-cache"] && request.options.principal == nil)
        #expect(request.options.deadline == clock.now + .seconds(5) && probed.state.isReachable)
    }

    @Test func `M104: A portal is asked again after the quiet time, as is a server that says nothing`() async throws {
        let stub = StubConnection(answers: [
            { _ in Response(status: .ok, body: "Sign in") },
            { _ in throw TransportError(.connectionRefused, at: .connecting) },
            { _ in
                let failure = TransportError(.connectionLost, at: .body)
                return Response(status: .noContent, body: GatedTransfer.open.body(chunks: 0, failure: failure))
            },
            { [clock] _ in
                try await clock.sleep(until: clock.now + .seconds(3600), tolerance: nil)
                return Response(status: .ok)
            }, { _ in Response(status: .noContent) },
        ])
        let probed = try probed(over: stub)
        // A probe has 5 seconds.
        for (count, isCaptive, sleep) in [(1, true, 60), (2, nil, 60), (3, nil, 60), (4, nil, 5), (4, nil, 55)]
            as [(Int, Bool?, Int)]
        {
            try await yield { stub.requests.count == count && clock.pendingSleeps.contains(.seconds(sleep)) }
            #expect(probed.state.isCaptive == isCaptive)
            clock.advance(by: .seconds(sleep))
        }
        try await yield { probed.state.isCaptive == false && spawner.runningCount == 1 }
    }

    @Test func `A network without a portal is asked after a change, once within a second`() async throws {
        let stub = StubConnection { _ in Response(status: .noContent) }
        let probed = try probed(over: stub)
        try await yield { probed.state.isCaptive == false && spawner.runningCount == 1 }
        clock.advance(by: .seconds(3600))
        network.set(NetworkState(kind: .wifi))
        try await yield { probed.state == NetworkState(kind: .wifi, isCaptive: false) }
        network.set(.unreachable)
        try await yield { probed.state == .unreachable }
        // Further changes wait for the end of the second, and are not shown before.
        for (count, kind) in [(4, .cellular), (5, .wired)] as [(Int, NetworkState.Kind)] {
            network.set(NetworkState(kind: kind))
            try await yield { spawner.spawnedCount == count && clock.pendingSleeps.contains(.seconds(1)) }
            #expect(probed.state == .unreachable && stub.requests.count == 2)
        }
        clock.advance(by: .seconds(1))
        try await yield { probed.state == NetworkState(kind: .wired, isCaptive: false) }
        #expect(stub.requests.count == 3)
    }

    @Test func `A change while a probe is under way throws its answer away`() async throws {
        let gate = Gate()
        let stub = StubConnection { _ in try await gate.response() }
        let probed = try probed(over: stub)
        try await gate.waitForWaiting(1)
        network.set(.unreachable)
        try await yield { probed.state == .unreachable }
        gate.open()
        try await yield { spawner.runningCount == 1 }
        #expect(probed.state == .unreachable)
    }

    @Test(arguments: [true, false]) func `The tasks end with the network`(changes: Bool) async throws {
        let stub = StubConnection { _ in Response(status: .ok) }
        var probed: ProbedNetwork? = try probed(changes ? network : FixedNetwork(), over: stub)
        try await yield { probed?.state.isCaptive == true }
        probed = nil
        try await spawner.finished()
    }

    @Test(arguments: ["probe.example", "ftp://probe.example/", ""])
    func `A URL that cannot be asked is refused`(url: String) {
        #expect(throws: InvalidRequestError.self) { try probed(asking: url, over: StubConnection()) }
    }
}
