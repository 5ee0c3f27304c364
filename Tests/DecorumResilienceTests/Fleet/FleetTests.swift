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

    @Test(.enabled(if: isSoak)) func `100,000 clients of one call in 12 seconds let their server recover`() async throws
    {
        let fleet = Fleet(clients: 100_000, callsPerSecond: 8000, capacity: 10_000, calm: 30, aftermath: 40)
        let report = await report(fleet)

        #expect(report.requestsPerCall <= 1.6)
        #expect(try #require(report.recovery) <= 15)
    }

    private func report(_ fleet: Fleet) async -> FleetReport {
        var fleet = fleet
        if Self.isSoak, fleet.callsPerSecond < 100 { (fleet.calm, fleet.aftermath) = (60, 220) }
        let report = await fleet.run()
        print("fleet: \(fleet.clients) clients, \(fleet.trouble), seed \(fleet.seed): \(report)")
        return report
    }
}
