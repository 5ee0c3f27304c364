import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct SimulatedNetworkTests {
    @Test func `A worker takes requests in their order, and a full queue refuses`() throws {
        let ends = try outcomes(of: 5) { $0.queueLimit = 3 }
        #expect(ends == ["200 at 12 ms", "200 at 22 ms", "200 at 32 ms", "200 at 42 ms", "503 at 2 ms"])
    }

    @Test func `Workers work at the same time, and a route has a time of its own`() throws {
        let ends = try outcomes(of: 4, routeName: "slow") { server in
            server.workers = 2
            server.workOfRoute["slow"] = .fixed(.milliseconds(100))
        }
        #expect(ends == ["200 at 102 ms", "200 at 102 ms", "200 at 202 ms", "200 at 202 ms"])
    }

    @Test(arguments: [
        (SimulatedServer.Answer.stopped, "connectionRefused at 2 ms"), (.refuses(503), "503 at 2 ms"),
        (.refuses(429, retryAfter: .milliseconds(2500)), "429, Retry-After 3 at 2 ms"),
    ])
    func `A server fails at once`(answer: SimulatedServer.Answer, outcome: String) throws {
        #expect(try outcomes(of: 1) { $0.answer = answer } == [outcome])
    }

    @Test func `A server fails after the work, loses requests and has a clock of its own`() throws {
        #expect(try outcomes(of: 1) { $0.failures = 1 } == ["500 at 12 ms"])
        #expect(try outcomes(of: 1) { $0.resets = 1 } == ["connectionLost at 12 ms"])
        #expect(try outcomes(of: 1) { $0.losses = 1 } == ["timedOut at 60000 ms"])
        #expect(try outcomes(of: 1, deadline: .seconds(2)) { $0.losses = 1 } == ["deadlineExceeded at 2000 ms"])
        #expect(try outcomes(of: 1, deadline: .zero) { _ in } == ["deadlineExceeded at 0 ms"])
        let ends = try outcomes(of: 1) { $0.skew = .seconds(-3600) }
        #expect(ends == ["200, Date Tue, 14 Nov 2023 21:13:20 GMT at 12 ms"])
    }

    @Test func `A server that stops loses what it has, and answers again later`() throws {
        let clock = SimulatedClock()
        var slow = SimulatedServer()
        slow.work = .fixed(.seconds(2))
        var stopped = slow
        stopped.answer = .stopped
        let scenario = Scenario(
            named: "restart",
            phases: [
                .init(from: .zero, server: slow), .init(from: .seconds(1), server: stopped), .init(from: .seconds(5)),
            ])
        let network = SimulatedNetwork(scenario, clock: clock, generator: SeededGenerator(seed: 1))
        let ends = try clock.run {
            async let first = outcome(of: try .get("https://a.example/"), at: network)
            async let second = outcome(of: try .get("https://a.example/"), at: network)
            let lost = try await [first, second]
            try await clock.sleep(until: clock.now + .seconds(5), tolerance: nil)
            return lost + [await outcome(of: try .get("https://a.example/"), at: network)]
        }
        #expect(ends == ["connectionLost at 1001 ms", "connectionLost at 1001 ms", "200 at 6013 ms"])
        #expect(network.requestsBySecond == [2, 0, 0, 0, 0, 0, 1])
    }

    @Test(arguments: [(true, "200 at 32 ms"), (false, "200 at 22 ms")])
    func `A server may work on a request whose client has gone`(servesAbandoned: Bool, end: String) throws {
        var server = SimulatedServer()
        server.servesAbandoned = servesAbandoned
        let scenario = Scenario(named: "abandoned", phases: [.init(from: .zero, server: server)])
        let clock = SimulatedClock()
        let network = SimulatedNetwork(scenario, clock: clock, generator: SeededGenerator(seed: 1))
        let last = try clock.run {
            let request = try Request.get("https://a.example/")
            let calls = [
                Task { await outcome(of: request, at: network) }, Task { await outcome(of: request, at: network) },
            ]
            try await clock.sleep(until: clock.now + .milliseconds(1), tolerance: nil)
            calls[1].cancel()
            #expect(await calls[1].value == "CancellationError at 1 ms")
            return await outcome(of: request, at: network)
        }
        #expect(last == end)
    }

    @Test func `Content arrives in parts, and fails at the deadline of the body`() throws {
        var server = SimulatedServer()
        server.contentLength = 8
        server.contentTime = .milliseconds(400)
        let clock = SimulatedClock()
        let scenario = Scenario(named: "content", phases: [.init(from: .zero, server: server)])
        let network = SimulatedNetwork(scenario, clock: clock, generator: SeededGenerator(seed: 1))
        try clock.run {
            var request = try Request.get("https://a.example/")
            #expect(try await SimulatedTransport(network).send(request).data(upTo: 100).count == 8)
            #expect(clock.time == .milliseconds(412))
            request.options.bodyDeadline = clock.now + .milliseconds(150)
            let response = try await SimulatedTransport(network).send(request)
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
        let deviation = (squares / 20_000).squareRoot()
        #expect(abs(mean - 5) < 0.1 && abs(deviation - 2) < 0.1)
        let slow = SimulatedDelay(mean: .milliseconds(5), stragglers: 0.5, stragglerFactor: 10)
        #expect(Set((0..<100).map { _ in slow.draw(using: generator) }) == [5_000_000, 50_000_000])
    }

    /// Sends requests at once, and tells how each of them ends.
    private func outcomes(
        of count: Int, routeName: String? = nil, deadline: Duration? = nil, _ change: (inout SimulatedServer) -> Void
    ) throws -> [String] {
        var server = SimulatedServer()
        change(&server)
        let clock = SimulatedClock()
        let scenario = Scenario(named: "test", phases: [.init(from: .zero, server: server)])
        let network = SimulatedNetwork(scenario, clock: clock, generator: SeededGenerator(seed: 1))
        return try clock.run {
            var request = try Request.get("https://a.example/")
            request.options.routeName = routeName
            request.options.deadline = deadline.map { clock.now + $0 }
            let calls = (0..<count).map { _ in Task { [request] in await outcome(of: request, at: network) } }
            var ends: [String] = []
            for call in calls { ends.append(await call.value) }
            return ends
        }
    }
}

private func outcome(of request: Request, at network: SimulatedNetwork) async -> String {
    var end: String
    do {
        let response = try await SimulatedTransport(network).send(request)
        end = "\(response.status.code)"
        if let pause = response.head.headerFields[.retryAfter] { end += ", Retry-After \(pause)" }
        if let date = response.head.headerFields[.date] { end += ", Date \(date)" }
    } catch let error as TransportError {
        end = "\(error.code)"
    } catch {
        end = "\(type(of: error))"
    }
    return end + " at \(Int(network.clock.time / .milliseconds(1))) ms"
}
