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
        let start = Duration.zero
        #expect(limit.current == 4)
        for number in 0..<2000 {
            let now = start + .milliseconds(10 * number)
            _ = limit.note(.init(start: now, latency: .milliseconds(10), running: 8, outcome: .rejection), at: now)
        }
        #expect(limit.current <= 3)
        for number in 2000..<20_000 {
            let now = start + .milliseconds(10 * number)
            _ = limit.note(.init(start: now, latency: .milliseconds(10), running: 9), at: now)
        }
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
    private struct Event {
        var time: Double
        var request: Int?
    }

    private struct Request {
        var isImportant: Bool
        var arrival: Double
        var start = 0.0
        var running = 0
        var end: Double?
    }

    let workers: Int
    let spread: Double
    var limits = Limits(.adaptive(within: 1...1000))
    var slowness: (from: Double, to: Double, factor: Double)?
    private let generator: SeededGenerator
    private var requests: [Request] = []
    private var deadline = Double.infinity
    private var seconds = 0.0

    init(workers: Int, spread: Double, seed: UInt64) {
        (self.workers, self.spread, generator) = (workers, spread, SeededGenerator(seed: seed))
    }

    /// The good answers in a time, as a share of what the server can work on.
    func share(from: Double, to: Double = .infinity) -> Double {
        let good = requests.filter { isGood($0) && ($0.end ?? 0) >= from && ($0.end ?? 0) < to }
        return Double(good.count) * 0.05 / Double(workers) / (min(to, seconds) - from)
    }

    /// The share of the important requests that got a good answer.
    func importantShare(from: Double) -> Double {
        let important = requests.filter { $0.isImportant && $0.arrival >= from && $0.arrival < seconds - 2 }
        return Double(important.filter(isGood).count) / Double(important.count)
    }

    private func isGood(_ request: Request) -> Bool { request.end.map { $0 - request.arrival <= deadline } ?? false }

    private func workingTime(at time: Double) -> Double {
        // The sum of twelve uniform numbers is nearly normal.
        let normal = (0..<12).reduce(-6) { sum, _ in sum + generator.uniform() }
        let factor = slowness.map { time >= $0.from && time < $0.to ? $0.factor : 1 } ?? 1
        return 0.05 * factor * max(0.2, 1 + spread * normal)
    }

    /// Sends requests, and returns the limit at each half second.
    mutating func run(load: Double, seconds: Double, deadline: Double = .infinity) -> [(second: Double, limit: Int)] {
        (self.deadline, self.seconds) = (deadline, seconds)
        func instant(_ time: Double) -> Duration { .seconds(time) }
        let start = ContinuousClock.now
        var admission = Admission(limits, longestQueue: 1000, longestWait: .seconds(60))
        var waiting: [ObjectIdentifier: Int] = [:]
        var (queue, busy, events) = (ArraySlice<Int>(), 0, EventQueue<Int?>())
        var series: [(Double, Int)] = []

        func work(_ number: Int, at time: Double) {
            busy += 1
            events.add(number, at: time + workingTime(at: time))
        }
        func send(_ number: Int, at time: Double) {
            (requests[number].start, requests[number].running) = (time, admission.running)
            if busy < workers { work(number, at: time) } else { queue.append(number) }
        }
        func sendWaiting(at time: Double) {
            while let next = admission.takeNext(at: instant(time), isSuspended: { _ in false }, refuse: { _ in }) {
                if let number = waiting.removeValue(forKey: ObjectIdentifier(next)) { send(number, at: time) }
            }
        }
        events.add(nil, at: 0)
        while let (time, event) = events.next(), time < seconds {
            while Double(series.count) * 0.5 <= time {
                series.append((Double(series.count) * 0.5, admission.places))
            }
            if let number = event {
                let request = requests[number]
                requests[number].end = time
                busy -= 1
                if let next = queue.popFirst() { work(next, at: time) }
                let latency = Duration.seconds(time - request.start)
                let outcome: AdaptiveLimit.Outcome = time - request.arrival > deadline ? .timeout : .answer
                admission.note(
                    .init(
                        start: instant(request.start), latency: latency, running: request.running, outcome: outcome),
                    at: instant(time))
                admission.end(nil, after: latency)
                sendWaiting(at: time)
            } else {
                let number = requests.count
                requests.append(Request(isImportant: generator.uniform() < 0.2, arrival: time))
                let limit = deadline.isFinite ? instant(time + deadline) : nil
                let ticket = LimitTicket(
                    group: nil, priority: requests[number].isImportant ? 25 : 9, deadline: limit,
                    limit: limit ?? instant(time + 60))
                let waiter = LimitWaiter(ticket, from: start)
                switch admission.arrive(waiter, isSuspended: false, at: instant(time)) {
                case .goes: send(number, at: time)
                case .waits: waiting[ObjectIdentifier(waiter)] = number
                case .isRefused: break
                }
                let interval = 0.05 / Double(workers) / load
                events.add(nil, at: time + 2 * interval * generator.uniform())
            }
        }
        return series
    }
}

/// Events by their time.
private struct EventQueue<Event> {
    private var heap: [(time: Double, number: Int, event: Event)] = []
    private var last = 0

    mutating func add(_ event: Event, at time: Double) {
        last += 1
        heap.append((time, last, event))
        var index = heap.count - 1
        while index > 0, isBefore(index, (index - 1) / 2) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func next() -> (time: Double, event: Event)? {
        guard let first = heap.first else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while let child = [2 * index + 1, 2 * index + 2].filter({ $0 < heap.count }).min(by: isBefore),
            isBefore(child, index)
        {
            heap.swapAt(index, child)
            index = child
        }
        return (first.time, first.event)
    }

    private func isBefore(_ one: Int, _ other: Int) -> Bool {
        (heap[one].time, heap[one].number) < (heap[other].time, heap[other].number)
    }
}
