import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTraffic

/// The client of a server that the page of the module recommends, and single parts of it that real callers meet.
@Suite(.timeLimit(.minutes(5))) struct RecommendedClientTests {
    private let clock = VirtualClock()

    @Test func `The figures of the page`() throws {
        let (naive, ours) = try compared()
        #expect(abs(naive.inTrouble.requestsPerCall - 3.77) < 0.05 && naive.recovery == nil, "\(naive)")
        #expect(abs(ours.inTrouble.requestsPerCall - 1.46) < 0.04, "\(ours)")
        #expect(abs(ours.afterwards.goodShare - 0.951) < 0.02, "\(ours)")
        #expect((.seconds(4) ... .seconds(8)).contains(try #require(ours.recovery)), "\(ours)")
    }

    @Test func `A run of the recommended client can be repeated, with its waits and breaks`() throws {
        let reports = try ([7, 7, 8] as [UInt64]).map { seed in
            try simulate(against: .stop, clients: 20, seed: seed) { transport, clock, generator in
                try StandardStack(.server, for: "https://api.example.com/").composed(
                    over: transport,
                    adding: .traffic(.server, clock: clock, generator: generator)
                        + .traffic(.app, clock: clock, generator: generator),
                    clock: clock, generator: generator)
            }
        }
        #expect(reports[0] == reports[1] && reports[0].seconds != reports[2].seconds)
    }

    @Test(arguments: [(10, false, true), (10, true, false), (400, false, true), (600, false, false)])
    func `A deadline that leaves a server no time opens no circuit, and the time of an attempt does`(
        milliseconds: Int, isAttempt: Bool, isClosed: Bool
    ) throws {
        let (clock, breakers, time) = (SimulatedClock(), CircuitBreakers(), Duration.milliseconds(milliseconds))
        let stub = StubConnection(clock: clock) { _ in
            try await clock.sleep(for: .seconds(60))
            return Response(status: .ok)
        }
        let connection = AnyConnection(
            stub.limitingTime(AttemptTimePolicy(isAttempt ? time : nil), as: .attempt, clock: clock)
                .breakingCircuits(in: breakers, clock: clock))
        try clock.run {
            for _ in 0..<5 {
                var request = try Request.get("https://a.example/")
                if !isAttempt { request.options.deadline = clock.now + time }
                do { _ = try await connection.send(request) } catch is TransportError {}
            }
        }
        #expect((breakers.circuits.first?.state == .closed) == isClosed)
    }

    @Test func `A request with a deadline passes a calm circuit without a look at the clock`() async throws {
        let counting = CountingClock()
        let transport = ClosureConnection(named: "transport", choosingFrom: []) { _ in Response(status: .ok) }
        let connection = transport.breakingCircuits(clock: counting)
        var request = try Request.get("https://a.example/")
        request.options.deadline = .now + .seconds(15)
        _ = try await connection.send(request)
        let reads = counting.reads
        for _ in 0..<3 { _ = try await connection.send(request) }
        #expect(counting.reads == reads)
    }

    @Test func `A request that was cancelled keeps no later one from its hedge`() throws {
        let clock = SimulatedClock()
        let requests = Mutex(0)
        let stub = StubConnection { _ in
            let number = requests.withLock { count in
                count += 1
                return count
            }
            // The last but one is cancelled, and the last one is slow.
            try await clock.sleep(for: number == 21 || number == 22 ? .seconds(9) : .milliseconds(10))
            return Response(status: .ok)
        }
        let connection = AnyConnection(
            stub.hedging(HedgingPolicy(largestShare: 1, budget: .unlimited), clock: clock))
        let hedge = try clock.run {
            for _ in 0..<20 { _ = try await connection.send(.get("https://a.example/")) }
            let left = Task { try await connection.send(.get("https://a.example/")) }
            try await clock.sleep(for: .milliseconds(1))
            left.cancel()
            do { _ = try await left.value } catch is CancellationError {}
            try await clock.sleep(for: .seconds(5))
            return try await connection.send(.get("https://a.example/")).metadata.hedge
        }
        #expect(hedge == .won)
    }

    @Test func `A network that takes the place of another is shown before its probe has an answer`() async throws {
        let (network, gate) = (SettableNetwork(NetworkState(kind: .wifi)), Gate())
        let stub = StubConnection { _ in
            try await gate.wait()
            return Response(status: .noContent)
        }
        let probed = try ProbedNetwork(network, asking: "http://probe.example/", over: stub, clock: clock)
        try await gate.waitForWaiting(1)
        let cellular = NetworkState(kind: .cellular, isExpensive: true)
        network.set(cellular)
        try await yield { probed.state == cellular }
    }

    @Test func `Stacks share the watch of the network`() throws {
        let layer = StubConnection().waitingForNetwork() as? WaitingForNetworkConnection<StubConnection>
        #expect(try #require(layer?.network as? SystemNetwork) === SystemNetwork.shared)
    }
}

private final class CountingClock: DatedClock {
    private let count = Mutex(0)

    var reads: Int { count.withLock { $0 } }
    var now: ContinuousClock.Instant {
        count.withLock { $0 += 1 }
        return .now
    }
    var date: Date { .now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
}
