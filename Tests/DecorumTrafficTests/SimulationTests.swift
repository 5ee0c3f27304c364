import Decorum
import DecorumTestSupport
import DecorumTesting
import DecorumTraffic
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct SimulatedClockTests {
    @Test func `Tasks of each kind run in the same order twice`() throws {
        let first = try order(seed: nil)
        #expect(first.count == 21)
        #expect(try order(seed: nil) == first)

        let shuffled = try order(seed: 1)
        #expect(shuffled != first && shuffled.sorted() == first.sorted())
        #expect(try order(seed: 1) == shuffled)
        #expect(try order(seed: 2) != shuffled)
    }

    /// Runs tasks of each kind, which wait in each way, and returns what they did in its order.
    private func order(seed: UInt64?) throws -> [String] {
        let clock = SimulatedClock(shufflingTasksBy: seed.map { SeededGenerator(seed: $0) })
        return try clock.run {
            let log = Log()
            let tasks = [
                Task { await concurrently { await log.add("task") } }, Task.detached { await log.add("detached") },
            ]
            await withDiscardingTaskGroup { group in
                for child in 0..<8 {
                    group.addTask {
                        await log.add("child \(child)")
                        try? await clock.sleep(for: .seconds(child % 3))
                        await log.add("child \(child) at \(clock.time)")
                    }
                }
            }
            async let last: Void = log.add("async let")
            await withCheckedContinuation { continuation in
                _ = Task(priority: .background) { continuation.resume() }
            }
            await log.add("continuation")
            await last
            for task in tasks { await task.value }
            let sleeper = Task { try await clock.sleep(for: .seconds(60)) }
            await Task.yield()
            sleeper.cancel()
            await log.add("\(await sleeper.result) at \(clock.time)")
            return await log.entries
        }
    }

    @Test func `Other tasks of the process run as before`() async throws {
        let turns = Monitor(0)
        let outside = Task.detached {
            while turns.increment() < 100 { await Task.yield() }
        }
        try SimulatedClock().run { for _ in 0..<1000 { await Task.yield() } }
        await outside.value
        #expect(turns.state == 100)
    }

    @Test func `A clock keeps its time and its sleepers from run to run, and throws the error of the work`() throws {
        let clock = SimulatedClock()
        let start = clock.date
        let woken = Monitor(false)
        try clock.run {
            Task {
                try await clock.sleep(for: .seconds(10))
                woken.update { $0 = true }
            }
            try await clock.sleep(for: .seconds(4))
            // A time that is over.
            try await clock.sleep(until: clock.now - .seconds(1), tolerance: nil)
        }
        #expect(clock.time == .seconds(4) && !woken.state)
        try clock.run { try await clock.sleep(for: .seconds(7)) }
        #expect(clock.time == .seconds(11) && woken.state && clock.date == start + 11)
        #expect(throws: Log.Failure()) { try clock.run { throw Log.Failure() } }
    }

    @Test func `Work that waits in real time, for nothing or without end is refused`() {
        let refusals: [(String, @Sendable (SimulatedClock) async throws -> Void)] = [
            ("No task is ready", { _ in try await Gate().wait() }),
            ("No task is ready", { _ in try await Task.sleep(for: .seconds(1)) }),
            ("The work has not ended", { try await $0.sleep(until: $0.now + .seconds(1 << 40), tolerance: nil) }),
            ("A simulation runs on this thread", { _ in try SimulatedClock().run {} }),
            ("Tasks run on while", { _ in while !Task.isCancelled { await Task.yield() } }),
        ]
        for (reason, work) in refusals {
            let clock = SimulatedClock(jobLimit: 1000)
            let error = #expect(throws: SimulationError.self) { try clock.run { try await work(clock) } }
            #expect(error?.description.hasPrefix(reason) == true)
        }
        // The main actor may be quicker, so that the reason is one of two.
        #expect(throws: SimulationError.self) { try SimulatedClock().run { await MainActor.run {} } }
    }
}

@concurrent private func concurrently(_ work: @Sendable () async -> Void) async { await work() }

private actor Log {
    struct Failure: Error, Equatable {}

    private(set) var entries: [String] = []

    func add(_ entry: String) { entries.append(entry) }
}

@Suite(.timeLimit(.minutes(3))) struct SimulatedNetworkTests {
    /// How requests end that are sent at once.
    struct Row: Sendable {
        let ends: [String]
        var route: String?
        var deadline: Duration?
        let change: @Sendable (inout SimulatedServer) -> Void
    }

    private let clock = SimulatedClock()

    @Test(arguments: [
        Row(ends: ["200 at 12 ms", "200 at 22 ms", "200 at 32 ms", "503 at 2 ms"]) { $0.queueLimit = 2 },
        Row(ends: ["200 at 102 ms", "200 at 102 ms", "200 at 202 ms", "200 at 202 ms"], route: "slow") {
            ($0.workers, $0.workOfRoute) = (2, ["slow": .fixed(.milliseconds(100))])
        },
        Row(ends: ["connectionRefused at 2 ms"]) { $0.answer = .stopped },
        Row(ends: ["503 at 2 ms"]) { $0.answer = .refuses(503) },
        Row(ends: ["429, Retry-After 3 at 2 ms"]) { $0.answer = .refuses(429, retryAfter: .milliseconds(2500)) },
        Row(ends: ["500 at 12 ms"]) { $0.failures = 1 },
        Row(ends: ["connectionLost at 12 ms"]) { $0.resets = 1 },
        Row(ends: ["timedOut at 60000 ms"]) { $0.losses = 1 },
        Row(ends: ["deadlineExceeded at 2000 ms"], deadline: .seconds(2)) { $0.losses = 1 },
        Row(ends: ["deadlineExceeded at 0 ms"], deadline: .zero) { _ in },
        Row(ends: ["200, Date Tue, 14 Nov 2023 21:13:20 GMT at 12 ms"]) { $0.skew = .seconds(-3600) },
    ])
    func `A server works on requests in their order, refuses, fails, loses and answers by its clock`(row: Row) throws {
        let network = network([.init(from: .zero, server: SimulatedServer(row.change))])
        let ends = try clock.run {
            var request = try Request.get("https://a.example/", deadline: row.deadline.map { clock.now + $0 })
            request.options.routeName = row.route
            let calls = row.ends.map { _ in Task { [request] in await outcome(of: request, at: network) } }
            var ends: [String] = []
            for call in calls { ends.append(await call.value) }
            return ends
        }
        #expect(ends == row.ends)
    }

    @Test func `A server that stops loses what it has, and answers again later`() throws {
        let slow = SimulatedServer { $0.work = .fixed(.seconds(2)) }
        let stopped = SimulatedServer { $0.answer = .stopped }
        let network = network([
            .init(from: .zero, server: slow), .init(from: .seconds(1), server: stopped), .init(from: .seconds(5)),
        ])
        let ends = try clock.run {
            let request = try Request.get("https://a.example/")
            async let queued = outcome(of: request, at: network)
            let lost = await [outcome(of: request, at: network), queued]
            try await clock.sleep(for: .seconds(5))
            return lost + [await outcome(of: request, at: network)]
        }
        #expect(ends == ["connectionLost at 1001 ms", "connectionLost at 1001 ms", "200 at 6013 ms"])
        #expect(network.requestsBySecond == [2, 0, 0, 0, 0, 0, 1])
    }

    @Test(arguments: [(true, "200 at 32 ms"), (false, "200 at 22 ms")])
    func `A server may work on a request whose client has gone`(servesAbandoned: Bool, end: String) throws {
        let server = SimulatedServer { $0.servesAbandoned = servesAbandoned }
        let network = network([.init(from: .zero, server: server)])
        let last = try clock.run {
            let request = try Request.get("https://a.example/")
            let calls = (0..<2).map { _ in Task { await outcome(of: request, at: network) } }
            try await clock.sleep(for: .milliseconds(1))
            calls[1].cancel()
            #expect(await calls[1].value == "CancellationError at 1 ms")
            return await outcome(of: request, at: network)
        }
        #expect(last == end)
    }

    @Test func `Content arrives in parts, and fails at the deadline of the body`() throws {
        let server = SimulatedServer { ($0.contentLength, $0.contentTime) = (8, .milliseconds(400)) }
        let transport = SimulatedTransport(network([.init(from: .zero, server: server)]))
        try clock.run {
            var request = try Request.get("https://a.example/")
            #expect(try await transport.send(request).data(upTo: 100).count == 8)
            #expect(clock.time == .milliseconds(412))
            request.options.bodyDeadline = clock.now + .milliseconds(150)
            let response = try await transport.send(request)
            let error = await #expect(throws: TransportError.self) { try await response.data(upTo: 100) }
            #expect(error?.code == .deadlineExceeded && clock.time == .milliseconds(562))
        }
    }

    @Test func `A delay has the mean and the deviation that it was given`() {
        let generator = SeededGenerator(seed: 1)
        let delay = SimulatedDelay(mean: .milliseconds(5), deviation: .milliseconds(2))
        let times = (0..<20_000).map { _ in Double(delay.draw(using: generator)) / 1e6 }
        let mean = times.reduce(0, +) / 20_000
        let squares = times.map { ($0 - mean) * ($0 - mean) }.reduce(0, +)
        #expect(abs(mean - 5) < 0.1 && abs((squares / 20_000).squareRoot() - 2) < 0.1)
        let slow = SimulatedDelay(mean: .milliseconds(5), stragglers: 0.5, stragglerFactor: 10)
        #expect(Set((0..<100).map { _ in slow.draw(using: generator) }) == [5_000_000, 50_000_000])
    }

    private func network(_ phases: [Scenario.Phase]) -> SimulatedNetwork {
        SimulatedNetwork(
            Scenario(named: "test", phases: phases), clock: clock, generator: SeededGenerator(seed: 1))
    }
}

private func outcome(of request: Request, at network: SimulatedNetwork) async -> String {
    var end: String
    do {
        let response = try await SimulatedTransport(network).send(request)
        end = "\(response.status.code)"
        if let pause = response.head.headerFields[.retryAfter] { end += ", Retry-After \(pause)" }
        if let date = response.head.headerFields[.date] { end += ", Date \(date)" }
    } catch { end = (error as? TransportError).map { "\($0.code)" } ?? "\(type(of: error))" }
    return end + " at \(Int(network.clock.time / .milliseconds(1))) ms"
}

@Suite(.timeLimit(.minutes(3))) struct SimulationReportTests {
    @Test func `A report sums up the calls, also by their route, and its table names the seed`() throws {
        let request = { @Sendable (call: Int, client: Int) in
            var request = try Request.get("https://api.example.com/items")
            request.options.routeName = call.isMultiple(of: 4) ? "critical" : "other"
            return request
        }
        let report = try simulate(against: .stop, clients: 3, seed: 7, sending: request) { base, _, _ in base }
        #expect(
            report.description == """
                stop, 3 clients, seed 7
                                        calls  requests/call           good            p50            p99
                in all                  11292           1.00         86.2 %        0.027 s        0.127 s
                in trouble               1544           1.00          0.0 %        0.000 s        0.000 s
                afterwards               6456           1.00        100.0 %        0.026 s        0.115 s
                critical                 2823           1.00         86.3 %        0.027 s        0.129 s
                other                    8469           1.00         86.2 %        0.026 s        0.127 s
                95 % good again after 0 s; at most 106 requests in a second
                """)
        let rows = SimulationReport.table(["first": report, "second": report]).split(separator: "\n")
        #expect(rows.count == 3 && rows[1].dropFirst(6) == rows[2].dropFirst(6))
        #expect(throws: StubExhaustedError.self) {
            try simulate(against: .steady) { _, _, _ in throw StubExhaustedError(method: .get) }
        }
    }
}

/// The figures of the recommended client.
@Suite(.timeLimit(.minutes(Footprint.isSoak ? 60 : 5))) struct SimulationFigureTests {
    @Test(arguments: [Scenario.stop, .brownOut], Footprint.isSoak ? [1, 10, 1000, 100_000] : [1, 10, 1000])
    func `A stop or a brown-out costs 1.5 requests a call, 1.8 for 100,000 clients, and is over after 15 s`(
        scenario: Scenario, clients: Int
    ) throws {
        for seed in 1...(Footprint.isSoak ? clients > 1000 ? 3 : 20 : 1) as ClosedRange<UInt64> {
            let report = try simulate(against: scenario, clients: clients, seed: seed) { transport, clock, generator in
                var settings = StandardStack(.server, for: "https://api.example.com/")
                settings.attemptTime = AttemptTimePolicy(.seconds(1))
                if clients > 1000 { settings.retries = .fleet(generator: generator) }
                return try settings.composed(
                    over: transport, principal: Principal("service"),
                    adding: .traffic(.server, clock: clock, generator: generator) + [.hedging(clock: clock)],
                    clock: clock, generator: generator)
            }
            #expect(report.inTrouble.requestsPerCall <= (clients > 1000 ? 1.8 : 1.5), "\(report)")
            #expect(report.recovery ?? .seconds(999) <= .seconds(15), "\(report)")
            #expect(report.peakRate <= 240, "\(report)")
        }
    }

    @Test(arguments: [1, 10, 40])
    func `After a pause that a server asked for, 500 requests take at most 1.5 times as long`(workers: Int) throws {
        let server = SimulatedServer { ($0.workers, $0.queueLimit) = (workers, 500) }
        let asking = SimulatedServer { $0.answer = .refuses(503, retryAfter: .seconds(2)) }
        // The time from the first of the requests that is sent to the last answer.
        func time(of scenario: Scenario) throws -> Duration {
            let clock = SimulatedClock()
            let network = SimulatedNetwork(scenario, clock: clock, generator: SeededGenerator(seed: 1))
            let start = Monitor<Duration?>(nil)
            let stack = SimulatedTransport(network)
                .intercepting { request, base in
                    if clock.time >= .seconds(1) { start.update { $0 = $0 ?? clock.time } }
                    return try await base.send(request)
                }
                .pacing(clock: clock, generator: SeededGenerator(seed: 2))
            return try clock.run {
                let request = try Request.get("https://api.example.com/items")
                _ = try await stack.send(request)
                try await clock.sleep(for: .seconds(1))
                let calls = (0..<500).map { _ in Task { try await stack.send(request).status } }
                for call in calls { #expect(try await call.value == .ok) }
                return try clock.time - #require(start.state)
            }
        }
        let healthy = Scenario.Phase(from: .milliseconds(500), server: server)
        let paused = try time(of: Scenario(named: "pause", phases: [.init(from: .zero, server: asking), healthy]))
        let alone = try time(of: Scenario(named: "no pause", phases: [healthy]))
        #expect(paused <= alone * 1.5)
    }
}
