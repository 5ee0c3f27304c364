import Decorum
import DecorumTestSupport
import DecorumTesting
import Synchronization
import Testing

@testable import DecorumTraffic

/// The figures of second requests, in simulated time.
@Suite(.timeLimit(.minutes(10)))
struct HedgingWorkloadTests {
    /// The workload of a published hedging library: most answers take 5 ms, and one of twenty takes ten times as long.
    private static let workload = SimulatedDelay(
        mean: .milliseconds(5), deviation: .milliseconds(2), stragglers: 0.05, stragglerFactor: 10)

    @Test(arguments: [(0.927, 0.075, 0.30), (0.95, 0.05, 0.50)])
    func `Second requests cut the slowest answers, and cost few requests`(
        part: Double, share: Double, remaining: Double
    ) throws {
        let calls = Footprint.isSoak ? 50_000 : 5000
        let (clock, generator) = (SimulatedClock(), SeededGenerator(seed: 1))
        let requests = Mutex(0)
        let stub = ClosureConnection { _ in
            requests.withLock { $0 += 1 }
            try await clock.sleep(for: .nanoseconds(Self.workload.draw(using: generator)))
            return Response(status: .ok)
        }
        let policy = HedgingPolicy(percentile: part, largestShare: share, budget: .unlimited)
        let connection = AnyConnection(stub.hedging(policy, clock: clock))
        let times = try clock.run { () async throws -> [Duration] in
            var times: [Duration] = []
            for _ in 0..<calls {
                let start = clock.now
                _ = try await connection.send(.get("https://a.example/"))
                times.append(clock.now - start)
            }
            return times.sorted()
        }
        let alone = (0..<calls).map { _ in Duration.nanoseconds(Self.workload.draw(using: generator)) }.sorted()
        let (before, after) = (alone[calls * 99 / 100], times[calls * 99 / 100])
        let further = Double(requests.withLock { $0 } - calls) / Double(calls)
        print("hedging at \(part): p99 \(before) -> \(after) for \(further * 100) % more requests")
        #expect(after <= before * remaining)
        #expect(further <= share)
    }

    @Test func `In an outage, no second request begins after two seconds, until good answers are back`() throws {
        var (server, down) = (SimulatedServer(), SimulatedServer())
        (server.workers, server.work) = (100, Self.workload)
        (down, down.losses) = (server, 1)
        // Each client has ten calls in a second when the outage begins, so that it learns of it at once.
        let phases: [(Double, Double, SimulatedServer)] = [
            (0, 200, server), (19, 1000, server), (20, 1000, down), (23, 200, down), (50, 200, server),
        ]
        let scenario = Scenario(
            named: "outage", phases: phases.map { .init(from: .seconds($0), rate: $1, server: $2) },
            length: .seconds(65))
        let seen = Mutex((hedges: [Duration](), answers: [Duration](), refusals: 0))
        _ = try simulate(against: scenario, clients: 100) { transport, clock, _ in
            transport
                .limitingTime(AttemptTimePolicy(.seconds(1)), as: .attempt, clock: clock)
                .hedging(HedgingPolicy(budget: .unlimited), clock: clock)
                .intercepting { request, base in
                    var request = request
                    request.options.callContext = CallContext(keepingHistory: 0) { decision in
                        if decision.kind == .resends { seen.withLock { $0.hedges.append(clock.time) } }
                        let isRefused = decision.words.hasSuffix(HedgeRefusal.noAnswers.rawValue)
                        if isRefused { seen.withLock { $0.refusals += 1 } }
                    }
                    let response = try await base.send(request)
                    seen.withLock { $0.answers.append(clock.time) }
                    return response
                }
        }
        let (hedges, answers, refusals) = seen.withLock { $0 }
        let back = try #require(answers.first { $0 > .seconds(50) })
        let spans = [.zero ..< .seconds(20), .seconds(20) ..< .seconds(22), .seconds(22)..<back, back ..< .seconds(99)]
        let counts = spans.map { span in hedges.count(where: span.contains) }
        print("hedges before an outage, in its first 2 s, later, and after it: \(counts)")
        #expect(counts.map { $0 > 0 } == [true, true, false, true])
        #expect(refusals > 1000)
    }
}
