import Decorum
import DecorumTesting
import DecorumTraffic
import Foundation
import Testing

/// What the stacks of the presets, and clocks that jump, must not upset, and what is found in layers with bad input.
@Suite(.timeLimit(.minutes(3))) struct BadInputTests {
    private let transport = ClosureConnection(named: "transport", choosingFrom: []) { _ in Response(status: .ok) }

    @Test(arguments: [TrafficPreset.app, .server], [StandardStack.Preset.app, .server])
    func `The stacks of the presets have no findings, in production and in a test`(
        traffic: TrafficPreset, preset: StandardStack.Preset
    ) throws {
        for clock in [SystemClock(), VirtualClock()] as [any DatedClock] {
            let stack = try StandardStack(preset, for: "https://a.example/").composed(
                over: transport, authentication: .with(.bearer("t")), principal: Principal("user"),
                adding: .traffic(traffic, clock: clock) + [.hedging(clock: clock)], clock: clock)
            try requireNoFindings(in: stack)
        }
    }

    @Test func `Limits of zero, times that contradict each other and a circuit around no server are found`() throws {
        let slow = AttemptTimePolicy(.seconds(31))
        let forgetful = CircuitPolicy(opensAfter: .ratio(0.5, ofAtLeast: 9, within: .seconds(5)))
        for (hazard, wrong, remedy) in [
            ("limitOfNothing", transport.limiting(LimitPolicy(Limits(.fixed(0)))), "limits of one or more"),
            ("limitOfNothing", transport.limiting(LimitPolicy(Limits(.fixed(-1)))), "limits of one or more"),
            ("attemptLimitAboveCall", transport.limitingTime(slow, as: .attempt).limitingTime(), "less time"),
            ("circuitWindowTooShort", transport.limitingTime(as: .attempt).breakingCircuits(forgetful), "twice the"),
            ("circuitWithoutTransport", Answering().breakingCircuits(), "around the transport"),
            ("unsoundSettings", transport.breakingCircuits(CircuitPolicy(longestBreak: .zero)), "as its policy"),
        ] as [(Hazard, any Connection, String)] {
            let finding = try #require(wrong.findings.first { $0.hazard == hazard }, "\(wrong)")
            #expect(finding.change.contains(remedy), "\(finding)")
        }
    }

    @Test func `A date that jumps in both directions and a time that leaps ahead hold no request back`() async throws {
        let clock = JumpingClock()
        let stub = StubConnection { _ in Response(status: .ok) }
        let policy = CircuitPolicy(opensAfter: .ratio(0.5, ofAtLeast: 2, within: .seconds(30)))
        let connection = stub.breakingCircuits(policy, clock: clock)
            .limiting(LimitPolicy(Limits(.fixed(1), rate: .init(1, per: .seconds(60)))), clock: clock)
            .hedging(HedgingPolicy(budget: RetryBudget()), clock: clock).pacing(clock: clock)
            .retrying(clock: clock)
        for years in [0, 1, -1, 60, -60] {
            clock.jump.update { $0 = TimeInterval(years * 31_557_600) }
            try await clock.clock.sleep(for: .seconds(max(1, abs(years)) * 31_557_600))
            let start = clock.now
            #expect(try await connection.send(.get("https://a.example/")).status == .ok)
            #expect(clock.now == start, "It has not waited.")
        }
    }
}

private struct Answering: Connection {
    let layers = [Layer(name: "answering")]

    func send(_ request: consuming Request) async throws -> Response { Response(status: .ok) }
}

/// A clock with a date that jumps, whose sleeps end at once.
private struct JumpingClock: DatedClock {
    let clock = ImpatientClock()
    let jump = Monitor(TimeInterval.zero)

    var now: ContinuousClock.Instant { clock.now }
    var minimumResolution: Duration { clock.minimumResolution }
    var date: Date { clock.date + jump.state }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try await clock.sleep(until: deadline, tolerance: tolerance)
    }
}
