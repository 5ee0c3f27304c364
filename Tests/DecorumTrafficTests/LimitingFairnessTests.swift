import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Synchronization
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct LimitingFairnessTests {
    private let now = Duration.seconds(1000)
    private let limiter = RequestLimiter()

    /// Lets a request wait; returns why it does not, or in place of which group it does.
    private func outcome(
        in admission: inout Admission, of group: RequestGroup? = nil, priority: Int = 5, deadline: Duration? = nil
    ) -> String {
        let deadline = deadline.map { now + $0 }
        let waiter = LimitWaiter(
            group: group, priority: priority, deadline: deadline, limit: deadline ?? now + .seconds(60),
            wait: LimitedWait(until: nil))
        do throws(LimitError) {
            let displaced = try admission.arrive(waiter, at: now, isSuspended: { $0 == "images" }).displaced
            return displaced.map { "in place of \($0.group?.name ?? "others")" } ?? "waits"
        } catch {
            return "\(error.reason)" + (error.wait.map { " for \(Int(($0 / .seconds(1)).rounded())) s" } ?? "")
        }
    }

    @Test func `Suspended requests take no place in the queue of others, and others none in theirs`() {
        var admission = Admission(.all, in: LimitPolicy(Limits(.fixed(1)), longestQueue: 1), since: .now)
        admission.begin(at: now)
        let requests = [("images", 1), ("images", 1), ("pages", 5), ("pages", 5), ("pages", 9), ("images", 9)]
        let outcomes = requests.map {
            outcome(in: &admission, of: RequestGroup(stringLiteral: $0.0), priority: $0.1)
        }
        #expect(
            outcomes == ["waits", "queueFull", "waits", "queueFull", "in place of pages", "in place of images"])
    }

    @Test func `A request that a rate lets through too late is refused at once, even if nothing is on its way`() {
        var hourly = Admission(.all, in: LimitPolicy(Limits(rate: .init(1, per: .seconds(3600)))), since: .now)
        hourly.begin(at: now)
        hourly.end(since: now, at: now)
        #expect(outcome(in: &hourly, deadline: .seconds(1)) == "tooLate for 3600 s")
        #expect(outcome(in: &hourly) == "tooLate for 3600 s")
        #expect(outcome(in: &hourly, deadline: .seconds(3601)) == "waits")

        // How long other requests have taken does not count then, since only an answer shows that the server is fast again.
        var slow = Admission(.all, in: LimitPolicy(Limits(.fixed(1), rate: .init(1, per: .seconds(1)))), since: .now)
        slow.begin(at: now)
        slow.note(.answer, since: .zero, at: now)
        slow.end(since: .zero, at: now)
        #expect(outcome(in: &slow, deadline: .seconds(0.5)) == "tooLate for 1 s")
        #expect(outcome(in: &slow, deadline: .seconds(2)) == "waits")
    }

    @Test func `Only layers with equal policies in one limiter share their places`() {
        let (rate, places) = (LimitPolicy(Limits(rate: .init(9, per: .seconds(1)))), LimitPolicy.standard)
        let stack = StubConnection().limiting(places, in: limiter)
        #expect(!stack.limiting(rate, in: limiter).findings.map(\.hazard).contains("limitTwice"))
        #expect(stack.limiting(places, in: limiter).findings.map(\.hazard).contains("limitTwice"))
    }

    @Test func `A spawner and a clock may use the limiter, since no lock is held`() throws {
        let clock = LookingClock(limiter: limiter)
        let policy = LimitPolicy(Limits(.fixed(2), rate: .init(1, per: .seconds(1))), longestWait: .seconds(3))
        let connection = StubConnection { _ in
            Response(status: .ok, body: Body(chunks: AsyncStream { $0.yield(Data("a".utf8)) }))
        }.limiting(policy, in: limiter, clock: clock, spawner: clock)
        try clock.base.run {
            let running = [
                try await connection.send(.get("https://a.example/")),
                try await connection.send(.get("https://a.example/")),
            ]
            #expect(clock.base.time == .seconds(1))
            let error = await #expect(throws: LimitError.self) {
                try await connection.send(.get("https://a.example/"))
            }
            #expect(error?.reason == .timeOver && clock.base.time == .seconds(4))
            withExtendedLifetime(running) {}
        }
    }

    @Test func `Of states that are all in use, the oldest is dropped`() throws {
        let rule = LimitRule(
            policy: .standard, suspensions: nil, watch: TimeLimitWatch(clock: VirtualClock()), spawner: SystemSpawner(),
            start: .now)
        let (table, limit) = (LimitTable(rule: rule), KeyedStates<TrafficKey, LimitLane>.limit)
        let requests = try (0..<limit + 2).map { try Request.get("https://\($0).example/") }
        let lanes = requests.prefix(limit).map { table.lane(of: $0) }
        for new in 0..<2 {
            for request in requests[new..<limit] { _ = table.lane(of: request) }
            _ = table.lane(of: requests[limit + new])
            #expect(table.lanes.all[lanes[new].key] == nil && table.lanes.all.count == limit)
        }
    }

    @Test func `The largest range of an adaptive limit is no trap`() {
        for range in [.max ... .max, 1 ... .max] as [ClosedRange<Int>] {
            var limit = AdaptiveLimit(range)
            for _ in 0..<10_000 {
                limit.begin(limit.current)
                _ = limit.note(.answer, latency: 1, usual: 1, since: now, at: now)
            }
            #expect(limit.current >= 4)
        }
    }
}

/// A clock and a spawner that look at a limiter, and so wait for ever if it holds a lock.
private struct LookingClock: DatedClock, TaskSpawner {
    let limiter: RequestLimiter
    let base = SimulatedClock()

    var now: ContinuousClock.Instant {
        _ = limiter.snapshot
        return base.now
    }
    var date: Date { base.date }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try await base.sleep(until: deadline, tolerance: tolerance)
    }

    func spawn(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        _ = limiter.snapshot
        return Task { await work() }
    }
}

@Suite(.timeLimit(.minutes(3)))
struct DistinctLimitTests {
    private final class Limited: TimeLimited {
        let limit: Mutex<TimeLimit?>
        private let end: @Sendable () -> Void

        init(_ instant: ContinuousClock.Instant, end: @escaping @Sendable () -> Void) {
            limit = Mutex(TimeLimit(at: instant, because: .idle))
            self.end = end
        }

        var timeLimit: TimeLimit? { limit.withLock { $0 } }

        func timeOut(at limit: TimeLimit) {
            self.limit.withLock { $0 = nil }
            end()
        }

        func cancel() {}
    }

    @Test func `Values end by their limits, even if these have moved, and then by their arrival`() async throws {
        let clock = VirtualClock()
        let (watch, order) = (TimeLimitWatch(clock: clock), Monitor<[Int]>([]))
        let start = clock.now
        let values = [4, 1, 3, 1, 2].enumerated().map { number, seconds in
            Limited(start + .seconds(seconds)) { order.update { $0.append(number) } }
        }
        for value in values { watch.add(value) }
        values[1].limit.withLock { $0 = TimeLimit(at: start + .seconds(3.5), because: .idle) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(10))
        try await yield { order.state.count == values.count }
        #expect(order.state == [3, 4, 2, 1, 0])
    }

    @Test func `Waits with distinct limits end in a time that grows with their number, and those removed do not`() {
        expectLinearTime(upTo: 4000, "waits with distinct limits") { count in
            {
                let clock = SimulatedClock()
                let (watch, start) = (TimeLimitWatch(clock: clock), clock.now)
                let waits = (0..<count).map {
                    LimitedWait<Void>(until: start + .milliseconds($0 * 7919 % count))
                }
                #expect(throws: Never.self) {
                    try clock.run {
                        for wait in waits { watch.add(wait) }
                        for wait in waits[(count / 4)...] { watch.remove(wait) }
                        for wait in waits[(count / 2)...] { watch.add(wait) }
                        try await clock.sleep(until: start + .milliseconds(count), tolerance: nil)
                    }
                }
                let waiting = waits.indices.filter { waits[$0].timeLimit != nil }
                #expect(waiting == Array(count / 4..<count / 2))
            }
        }
    }
}
