import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTraffic

/// The workload of a published hedging library: most answers take 5 ms, and one of twenty takes ten times as long.
@Suite(.timeLimit(.minutes(10)))
struct HedgingWorkloadTests {
    private let clock = VirtualClock()
    private let generator = SeededGenerator(seed: 1)
    private let calls = ProcessInfo.processInfo.environment["DECORUM_SOAK"] == nil ? 5_000 : 50_000

    /// The requests of the current call: when each of them is answered, and whether a second one was refused.
    private struct Progress {
        var ends: [ContinuousClock.Instant] = []
        var isRefused = false
        var sent = 0
    }

    private func time() -> Duration {
        // A log-normal time with a mean of 5 ms and a standard deviation of 2 ms.
        let variance = log(1 + 4.0 / 25)
        let normal = sqrt(-2 * log(1 - generator.uniform())) * cos(2 * .pi * generator.uniform())
        let milliseconds = exp(log(5) - variance / 2 + sqrt(variance) * normal)
        return .milliseconds(milliseconds * (generator.uniform() < 0.05 ? 10 : 1))
    }

    /// Sends calls one after another in virtual time; returns the times that they took, in order, and the requests.
    private func run(_ policy: HedgingPolicy) async throws -> (times: [Duration], requests: Int) {
        let progress = Mutex(Progress())
        let stub = ClosureConnection { [clock] request in
            let end = clock.now + time()
            progress.withLock { progress in
                progress.ends.append(end)
                progress.sent += 1
            }
            try await clock.sleep(until: end, tolerance: nil)
            return Response(status: .ok)
        }
        let connection = AnyConnection(stub.hedging(policy, clock: clock))
        var times: [Duration] = []
        for call in 0..<calls {
            progress.withLock { ($0.ends, $0.isRefused) = ([], false) }
            var request = try Request.get("https://a.example/")
            request.options.callContext = CallContext(keepingHistory: 0) { decision in
                if decision.kind == .skips { progress.withLock { $0.isRefused = true } }
            }
            let start = clock.now
            let task = Task { [request] in try await connection.send(request) }
            // The first twenty calls are only measured, so that nothing waits for the time of a second request.
            try await yield { clock.pendingSleeps.count >= (call < 20 ? 1 : 2) }
            while true {
                clock.advance(by: clock.pendingSleeps.first ?? .zero)
                let now = clock.now
                if progress.withLock({ progress in progress.ends.contains { $0 <= now } }) { break }
                try await yield {
                    clock.pendingSleeps.count >= 2
                        || progress.withLock { $0.isRefused && clock.pendingSleeps.count == 1 }
                }
            }
            _ = try await task.joinedValue
            times.append(clock.now - start)
        }
        return (times.sorted(), progress.withLock { $0.sent })
    }

    private func percentile(_ part: Double, of times: [Duration]) -> Double {
        times[min(Int(part * Double(times.count)), times.count - 1)] / .milliseconds(1)
    }

    @Test(arguments: [(0.927, 0.075, 0.30), (0.95, 0.05, 0.50)])
    func `Second requests cut the slowest answers, and cost few requests`(
        part: Double, share: Double, remaining: Double
    ) async throws {
        let alone = (0..<calls).map { _ in time() }.sorted()
        let (times, requests) = try await run(
            HedgingPolicy(percentile: part, largestShare: share, budget: .unlimited))
        let (before, after) = (percentile(0.99, of: alone), percentile(0.99, of: times))
        let further = Double(requests - calls) / Double(calls)
        print("hedging at \(part): p99 \(before) ms -> \(after) ms for \(further * 100) % more requests")
        #expect(after <= before * remaining)
        #expect(further <= share)
    }
}
