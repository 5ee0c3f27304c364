import Decorum
import DecorumTestSupport
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3))) struct CaptivePortalTests {
    private let clock = VirtualClock()
    private let network = SettableNetwork()
    private let spawner = TrackingSpawner()
    private static let url = "http://probe.example/empty"

    @Test(
        arguments: [
            (204, "", false), (204, "x", true), (200, "", true), (302, "", true), (511, "", nil), (500, "", nil),
            (429, "", nil), (404, "", true),
        ] as [(Int, String, Bool?)])
    func `An unexpected answer is one of a portal, unless the server is in trouble`(
        status: Int, content: String, isCaptive: Bool?
    ) async throws {
        let stub = StubConnection { _ in Response(status: .init(code: status), body: Body(content)) }
        let probed = try probed(over: stub)
        try await yield { stub.requests.count == 1 && probed.state.isCaptive == isCaptive }
        #expect(probed.state.isReachable)
    }

    @Test func `A failure and silence say nothing of a portal`() async throws {
        let stub = StubConnection(answers: [
            { _ in throw TransportError(.connectionRefused, at: .connecting) },
            { [clock] _ in
                try await clock.sleep(until: clock.now + .seconds(3600), tolerance: nil)
                return Response(status: .ok)
            }, { _ in Response(status: .noContent) },
        ])
        let probed = try probed(over: stub)
        // The first probe fails, and the second one has 5 seconds.
        for (count, sleep) in [(1, 60), (2, 5), (2, 55)] {
            try await yield { stub.requests.count == count && clock.pendingSleeps.contains(.seconds(sleep)) }
            #expect(probed.state.isCaptive == nil)
            clock.advance(by: .seconds(sleep))
        }
        try await yield { probed.state.isCaptive == false }
    }

    @Test func `The probe carries no credentials, and its answer is neither followed nor kept`() async throws {
        let stub = StubConnection { _ in Response(status: .found, fields: [.location: "http://portal.example/"]) }
        let probed = try probed(over: stub)
        try await yield { probed.state.isCaptive == true }

        let request = try #require(stub.requests.first)
        #expect(request.head.headerFields == [.cacheControl: "no-cache"] && request.options.principal == nil)
        #expect(stub.requests.count == 1 && request.options.deadline == clock.now + .seconds(5))
    }

    @Test func `A portal is asked again after the quiet time, and a network without one only after a change`()
        async throws
    {
        let stub = StubConnection(answers: [{ _ in Response(status: .ok, body: "Sign in") }]) { _ in
            Response(status: .noContent)
        }
        let probed = try probed(over: stub)
        try await yield { probed.state.isCaptive == true && clock.pendingSleeps.contains(.seconds(60)) }
        clock.advance(by: .seconds(60))
        try await yield { probed.state.isCaptive == false }
        clock.advance(by: .seconds(3600))
        try await yield { spawner.runningCount == 1 }
        #expect(stub.requests.count == 2)

        network.set(.unreachable)
        try await yield { probed.state == .unreachable }
        network.set(NetworkState(kind: .wifi))
        try await yield { probed.state == NetworkState(kind: .wifi, isCaptive: false) }
        #expect(stub.requests.count == 3)

        // A second change within a second waits for its end, and is not shown before.
        network.set(.unreachable)
        try await yield { probed.state == .unreachable }
        network.set(NetworkState(kind: .wired))
        try await yield { clock.pendingSleeps.contains(.seconds(1)) }
        #expect(probed.state == .unreachable && stub.requests.count == 3)
        clock.advance(by: .seconds(1))
        try await yield { probed.state == NetworkState(kind: .wired, isCaptive: false) }
    }

    @Test func `A change while a probe is under way throws its answer away`() async throws {
        let gate = Gate()
        let stub = StubConnection(answers: [
            { _ in
                try await gate.wait()
                return Response(status: .ok)
            }
        ]) { _ in Response(status: .noContent) }
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
        var probed: ProbedNetwork? = ProbedNetwork(
            changes ? network : FixedNetwork(), by: try CaptivePortalProbe(Self.url), over: stub, clock: clock,
            spawner: spawner)
        try await yield { probed?.state.isCaptive == true }
        probed = nil
        try await spawner.finished()
    }

    @Test(arguments: ["probe.example", "ftp://probe.example/", ""])
    func `A URL that cannot be asked is refused`(url: String) {
        #expect(throws: InvalidRequestError.self) { try CaptivePortalProbe(url) }
    }

    private func probed(over stub: StubConnection) throws -> ProbedNetwork {
        ProbedNetwork(network, by: try CaptivePortalProbe(Self.url), over: stub, clock: clock, spawner: spawner)
    }
}
