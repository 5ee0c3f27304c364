import Decorum
import DecorumTestSupport
import DecorumTesting
import Testing

@testable import DecorumTraffic

/// The limit that follows the latency, in simulated time, against workers that take 50 ms for a request.
@Suite(.timeLimit(.minutes(Footprint.isSoak ? 60 : 5)))
struct LimitingAdaptiveTests {
    /// Sends a multiple of what the server can work on, from 20 to 40 seconds to a slower one; one call of five is important.
    ///
    /// Returns the limit of each half second, and the report, in which calls of the first ten seconds are not important.
    private func run(
        _ workers: Int, spread: Double = 0.3, load: Double = 2, seconds: Int, slowness: Int = 1,
        within time: Duration? = nil, _ limits: Limits = Limits(.adaptive(within: 1...1000)), seed: UInt64 = 1
    ) throws -> (limits: [Double], report: SimulationReport) {
        let server = SimulatedServer {
            ($0.workers, $0.queueLimit, $0.trip) = (workers, 100_000, .fixed(.zero))
            $0.work = SimulatedDelay(mean: .milliseconds(50), deviation: .milliseconds(50 * spread))
        }
        var slow = server
        (slow.work.mean, slow.work.deviation) = (server.work.mean * slowness, server.work.deviation * slowness)
        let rate = load * server.capacity
        let phases = [(0, server), (20, slow), (40, server)].map { start, server in
            Scenario.Phase(from: .seconds(start), rate: rate, server: server)
        }
        let (limiter, places) = (RequestLimiter(), Monitor<[Double]>([]))
        let request = { @Sendable (call: Int, _: Int) in
            let isImportant = call.isMultiple(of: 5)
            var request = try Request.get("https://a.example/", priority: isImportant ? .high : nil)
            if isImportant, Double(call) > 10 * rate { request.options.routeName = "important" }
            return request
        }
        let scenario = Scenario(named: "load", phases: phases, length: .seconds(seconds))
        let report = try simulate(against: scenario, clients: 1, seed: seed, sending: request) { transport, clock, _ in
            Task {
                for _ in 0..<2 * seconds {
                    try await clock.sleep(for: .milliseconds(500))
                    places.update { $0.append(Double(limiter.snapshot.limits.values.first?.concurrency ?? 0)) }
                }
            }
            return transport.limiting(LimitPolicy(limits), in: limiter, clock: clock)
                .limitingTime(TimePolicy(call: time), clock: clock)
        }
        return (places.state, report)
    }

    /// The good answers in some seconds, as a share of what a server with a number of workers can work on.
    private func share(_ seconds: Range<Int>, _ report: SimulationReport, of workers: Int = 20) -> Double {
        Double(report.seconds[seconds].reduce(0) { $0 + $1.goodAnswers }) / Double(20 * workers * seconds.count)
    }

    @Test(arguments: [10, 20, 50], [0.1, 0.3])
    func `After 30 seconds, the limit is within a tenth of the capacity, and swings by a fifth at most`(
        workers: Int, spread: Double
    ) throws {
        for seed in 1...(Footprint.isSoak ? 10 : 1) as ClosedRange<UInt64> {
            let (all, report) = try run(workers, spread: spread, seconds: 50, seed: seed)
            let (limits, capacity) = (all[60...], Double(workers))
            let mean = limits.reduce(0, +) / Double(limits.count)
            #expect(abs(mean - capacity) <= 0.1 * capacity, "seed \(seed)")
            #expect(limits.allSatisfy { abs($0 - mean) <= 0.2 * capacity }, "seed \(seed): \(limits)")
            #expect(share(30..<50, report, of: workers) > 0.9, "seed \(seed)")
        }
    }

    @Test func `The limit stays where the load is low, and a slower server is not taken for a full one`() throws {
        let (low, report) = try run(20, load: 0.5, seconds: 30)
        #expect(low.allSatisfy { $0 <= 40 } && share(10..<30, report) > 0.48)
        let (limits, slower) = try run(20, seconds: 60, slowness: 5)
        #expect(limits[110...].allSatisfy { (16...24).contains($0) })
        #expect(share(30..<40, slower) > 0.8 / 5 && share(45..<60, slower) > 0.9)
    }

    @Test func `Rejections lower the limit, and it never leaves its range`() {
        var limit = AdaptiveLimit(2...8)
        #expect(limit.current == 4)
        func note(_ numbers: Range<Int>, _ outcome: AdaptiveLimit.Outcome) {
            for start in numbers.map({ Duration.milliseconds(10 * $0) }) {
                limit.begin(9)
                _ = limit.note(outcome, latency: 0.01, usual: 0.01, since: start, at: start + .milliseconds(10))
            }
        }
        note(0..<2000, .rejection)
        #expect(limit.current <= 3)
        note(2000..<20_000, .answer)
        #expect(limit.current >= 7 && limit.current <= 8)
    }

    @Test func `A timeout that is too short for an answer says nothing of the server`() {
        var limit = AdaptiveLimit(1...200)
        for number in 0..<2000 {
            limit.begin(200)
            let start = Duration.milliseconds(10 * number)
            let end = start + .milliseconds(10)
            _ = limit.note(number < 80 ? .answer : .timeout, latency: 0.01, usual: 0.01, since: start, at: end)
        }
        #expect(limit.current == 6)
    }

    @Test func `At twice the capacity, 90 % of it are good answers, and 99 % of important calls get one`() throws {
        for seed in 1...(Footprint.isSoak ? 10 : 1) as ClosedRange<UInt64> {
            let limited = try run(20, seconds: 40, within: .seconds(1), seed: seed).report
            #expect(share(10..<40, limited) > 0.9, "seed \(seed)")
            #expect(limited.routes["important"]?.goodShare ?? 0 > 0.99, "seed \(seed)")
            let unlimited = try run(20, seconds: 40, within: .seconds(1), Limits(), seed: seed).report
            #expect(share(10..<40, unlimited) < 0.1, "seed \(seed)")
        }
    }
}
