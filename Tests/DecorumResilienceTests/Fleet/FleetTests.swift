import Decorum
import DecorumTestSupport
import Foundation
import Synchronization
import Testing

/// Fleets of our own stacks over a server that gets into trouble, in virtual time.
///
/// The server serves 100 calls a second and gets 80 of them; for 20 seconds it is slow, or stopped. With
/// `DECORUM_SOAK=1`, fleets run for longer, with more seeds, and with 100,000 busy clients. Each prints its numbers.
@Suite(.timeLimit(.minutes(Footprint.isSoak ? 60 : 5))) struct FleetTests {
    static let isSoak = Footprint.isSoak
    static let seeds: [UInt64] = isSoak ? [7, 1, 2, 3] : [7]

    struct Row: Sendable {
        let clients: Int
        let trouble: QueueingServer.Trouble
        /// The largest number of requests for a call in trouble.
        let requests: Double
    }

    @Test(arguments: [
        Row(clients: 1, trouble: .slow, requests: 1.1), Row(clients: 10, trouble: .slow, requests: 1.1),
        Row(clients: 1000, trouble: .slow, requests: 1.5), Row(clients: 100_000, trouble: .slow, requests: 1.8),
        Row(clients: 1000, trouble: .stopped, requests: 1.5),
    ])
    func `A fleet with the defaults lets its server recover`(row: Row) async throws {
        var requests = 0.0
        for seed in Self.seeds {
            let fleet = Fleet(clients: row.clients, trouble: row.trouble, seed: seed)
            let report = await report(fleet)

            requests += report.requestsPerCall
            let recovery = try #require(report.recovery)
            #expect(recovery <= 15)
        }
        #expect(requests / Double(Self.seeds.count) <= row.requests)
    }

    @Test func `Retries without a budget keep a slow server down for ever`() async {
        let report = await report(Fleet(clients: 1000, policy: RetryPolicy(budget: .unlimited)))

        #expect(report.requestsPerCall > 3)
        #expect(report.recovery == nil)
    }

    @Test func `With a deadline of two seconds no request is sent after it, and the server recovers as fast`()
        async throws
    {
        let report = await report(Fleet(clients: 1000, timeLimit: .seconds(2)))

        #expect(report.sentLate == 0)
        #expect(report.requestsPerCall <= 1.5)
        #expect(try #require(report.recovery) <= 15)
    }

    @Test func `Two runs with one seed are the same`() async {
        let fleet = Fleet(clients: 10, calm: 10, aftermath: 10)

        #expect(await fleet.run() == fleet.run())
    }

    @Test(.enabled(if: isSoak)) func `100,000 clients of one call in 12 seconds let their server recover`() async throws
    {
        let fleet = Fleet(clients: 100_000, callsPerSecond: 8000, capacity: 10_000, calm: 30, aftermath: 40)
        let report = await report(fleet)

        #expect(report.requestsPerCall <= 1.6)
        #expect(try #require(report.recovery) <= 15)
    }

    @Test(arguments: isSoak ? [1000, 100_000] : [1000, 5000])
    func `Clients that were given one date come back over twenty seconds`(clients: Int) async throws {
        let simulation = Simulation()
        let seconds = await simulation.run { clock in
            let date = HTTPDate(clock.date + 60).description
            let chance = SeededGenerator(seed: 7)
            let arrivals = Mutex<[Int: Int]>([:])
            let server = ClosureConnection { _ in
                let second = Int(clock.elapsed.components.seconds)
                guard second > 0 else {
                    return Response(status: .serviceUnavailable, fields: [.retryAfter: date])
                }
                arrivals.withLock { $0[second, default: 0] += 1 }
                return Response(status: .ok)
            }
            await withDiscardingTaskGroup { group in
                for _ in 0..<clients {
                    group.addTask {
                        _ = try? await server.retrying(clock: clock, generator: chance).send(.page)
                    }
                }
            }
            return arrivals.withLock { $0 }
        }

        #expect(seconds.values.reduce(0, +) == clients)
        #expect(seconds.keys.allSatisfy { (60..<80).contains($0) })
        let largest = Double(seconds.values.max() ?? 0) / Double(clients)
        print("fleet: \(clients) clients with one date: at most \((largest * 1000).rounded() / 10) % in a second")
        // Each second gets 5 % but for chance, which is five standard deviations at most: see AskedWaitTests.
        #expect(largest <= 0.05 + 5 * (0.05 * 0.95 / Double(clients)).squareRoot())
    }

    private func report(_ fleet: Fleet) async -> FleetReport {
        var fleet = fleet
        if Self.isSoak, fleet.callsPerSecond < 100 { (fleet.calm, fleet.aftermath) = (60, 220) }
        let report = await fleet.run()
        print("fleet: \(fleet.clients) clients, \(fleet.trouble), seed \(fleet.seed): \(report)")
        return report
    }
}
