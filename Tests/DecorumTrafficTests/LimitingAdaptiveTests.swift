import Decorum
import DecorumTestSupport
import DecorumTesting
import Testing

@testable import DecorumTraffic

/// The limit that follows the latency, against a server with a number of workers and a queue.
@Suite(.timeLimit(.minutes(3)))
struct LimitingAdaptiveTests {
    @Test(arguments: [10, 20, 50], [0.1, 0.3])
    func `After 30 seconds, the limit is within a tenth of the capacity, and swings by a fifth at most`(
        workers: Int, spread: Double
    ) {
        for seed in 1...(Footprint.isSoak ? 10 : 1) as ClosedRange<UInt64> {
            var server = SimulatedServer(workers: workers, spread: spread, seed: seed)
            let limits = server.run(load: 2, seconds: 50).filter { $0.second > 30 }.map { Double($0.limit) }
            let mean = limits.reduce(0, +) / Double(limits.count)
            let capacity = Double(workers)
            #expect(abs(mean - capacity) <= 0.1 * capacity, "seed \(seed)")
            #expect(limits.allSatisfy { abs($0 - mean) <= 0.2 * capacity }, "seed \(seed)")
            #expect(server.share(from: 30) > 0.9, "seed \(seed)")
        }
    }

    @Test func `The limit stays where the load is low`() {
        var server = SimulatedServer(workers: 20, spread: 0.3, seed: 1)
        let limits = server.run(load: 0.5, seconds: 30)
        #expect(limits.allSatisfy { $0.limit <= 40 })
        #expect(server.share(from: 10) > 0.48)
    }

    @Test func `A server that becomes slower is not taken for one that is full`() {
        var server = SimulatedServer(workers: 20, spread: 0.3, seed: 1)
        server.slowness = (from: 20, to: 40, factor: 5)
        let limits = server.run(load: 2, seconds: 60)
        #expect(limits.filter { $0.second > 55 }.allSatisfy { (16...24).contains($0.limit) })
        #expect(server.share(from: 30, to: 40) > 0.8 / 5)
        #expect(server.share(from: 45) > 0.9)
    }

    @Test func `Rejections lower the limit, and it never leaves its range`() {
        var limit = AdaptiveLimit(2...8)
        #expect(limit.current == 4)
        func note(_ numbers: Range<Int>, _ outcome: AdaptiveLimit.Outcome) {
            for start in numbers.map({ Duration.milliseconds(10 * $0) }) {
                let end = start + .milliseconds(10)
                limit.begin(9)
                _ = limit.note(outcome, latency: 0.01, usual: 0.01, since: start, at: end)
            }
        }
        note(0..<2000, .rejection)
        #expect(limit.current <= 3)
        note(2000..<20_000, .answer)
        #expect(limit.current >= 7 && limit.current <= 8)
    }

    @Test func `At twice the capacity, nine tenths of it are good answers, and nearly all important requests get one`()
    {
        for seed in 1...(Footprint.isSoak ? 10 : 1) as ClosedRange<UInt64> {
            var server = SimulatedServer(workers: 20, spread: 0.3, seed: seed)
            _ = server.run(load: 2, seconds: 40, deadline: 1)
            #expect(server.share(from: 10) > 0.9, "seed \(seed)")
            #expect(server.importantShare(from: 10) > 0.99, "seed \(seed)")

            var unlimited = SimulatedServer(workers: 20, spread: 0.3, seed: seed)
            unlimited.limits = Limits(.fixed(100_000))
            _ = unlimited.run(load: 2, seconds: 40, deadline: 1)
            #expect(unlimited.share(from: 10) < 0.1, "seed \(seed)")
        }
    }
}

/// Workers that take 50 ms a request, and one queue for them; the requests come from one limiter.
private struct SimulatedServer {
    let workers: Int
    let spread: Double
    var limits = Limits(.adaptive(within: 1...1000))
    var slowness: (from: Double, to: Double, factor: Double)?
    private let generator: SeededGenerator
    private var requests: [(isImportant: Bool, arrival: Double, start: Duration, isGood: Bool, end: Double)] = []
    private var seconds = 0.0

    init(workers: Int, spread: Double, seed: UInt64) {
        (self.workers, self.spread, generator) = (workers, spread, SeededGenerator(seed: seed))
    }

    /// The good answers in a time, as a share of what the server can work on.
    func share(from: Double, to: Double = .infinity) -> Double {
        let good = requests.filter { $0.isGood && $0.end >= from && $0.end < to }
        return Double(good.count) * 0.05 / Double(workers) / (min(to, seconds) - from)
    }

    /// The share of the important requests that got a good answer.
    func importantShare(from: Double) -> Double {
        let important = requests.filter { $0.isImportant && $0.arrival >= from && $0.arrival < seconds - 2 }
        return Double(important.filter(\.isGood).count) / Double(important.count)
    }

    private func workingTime(at time: Double) -> Double {
        // The sum of twelve uniform numbers is nearly normal.
        let normal = (0..<12).reduce(-6) { sum, _ in sum + generator.uniform() }
        let factor = slowness.map { time >= $0.from && time < $0.to ? $0.factor : 1 } ?? 1
        return 0.05 * factor * max(0.2, 1 + spread * normal)
    }

    /// Sends requests, and returns the limit at each half second.
    mutating func run(load: Double, seconds: Double, deadline: Double = .infinity) -> [(second: Double, limit: Int)] {
        self.seconds = seconds
        var admission = Admission(.all, in: LimitPolicy(limits), since: .now)
        var waiting: [ObjectIdentifier: Int] = [:]
        var (queue, series) = (ArraySlice<Int>(), [(Double, Int)]())
        // The ends of requests that are worked on, and the next arrival, which has no number.
        var events: [(time: Double, number: Int?)] = [(0, nil)]

        func work(_ number: Int, at time: Double) { events.append((time + workingTime(at: time), number)) }
        func send(_ number: Int, at time: Double) {
            admission.begin(at: .seconds(time))
            requests[number].start = .seconds(time)
            if events.count <= workers { work(number, at: time) } else { queue.append(number) }
        }
        while let index = events.indices.min(by: { events[$0].time < events[$1].time }), events[index].time < seconds {
            let (time, event) = events.remove(at: index)
            while Double(series.count) * 0.5 <= time { series.append((Double(series.count) * 0.5, admission.places)) }
            let now = Duration.seconds(time)
            if let number = event {
                let request = requests[number]
                let isGood = time - request.arrival <= deadline
                (requests[number].isGood, requests[number].end) = (isGood, time)
                if let next = queue.popFirst() { work(next, at: time) }
                admission.note(isGood ? .answer : .timeout, since: request.start, at: now)
                admission.end(since: request.start, at: now)
                while let (waiter, isTooLate) = admission.takeNext(at: now, isSuspended: { _ in false }) {
                    let number = waiting.removeValue(forKey: ObjectIdentifier(waiter.wait))
                    if let number, !isTooLate { send(number, at: time) }
                }
            } else {
                let (number, isImportant) = (requests.count, generator.uniform() < 0.2)
                requests.append((isImportant, time, .zero, false, .infinity))
                events.append((time + 0.1 / Double(workers) / load * generator.uniform(), nil))
                if admission.isFree(isDeferred: false, behind: admission.waiting, at: now) {
                    send(number, at: time)
                } else {
                    let limit = deadline.isFinite ? Duration.seconds(time + deadline) : nil
                    let waiter = LimitWaiter(
                        group: nil, priority: isImportant ? 25 : 9, deadline: limit, limit: limit ?? now + .seconds(60),
                        wait: LimitedWait(until: nil))
                    waiting[ObjectIdentifier(waiter.wait)] = number
                    _ = try? admission.arrive(waiter, at: now, isSuspended: { _ in false })
                }
            }
        }
        return series
    }
}
