import Decorum
import DecorumConformance
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct FaultPlanTests {
    @Test func `Each request gets each fault with its rate, and all numbers follow from the seed`() {
        let faults: [Fault] = [
            .delay(.seconds(1) ... .seconds(3), rate: 0.5), .loss(rate: 0.1), .status(.badGateway, rate: 0.2),
            .truncation(rate: 0), .corruption(rate: .nan),
        ]
        func plans(_ faults: [Fault]) -> [FaultPlan] {
            let generator = SeededGenerator(seed: 20)
            return (0..<2000).map { _ in FaultPlan(faults, generator) }
        }
        let drawn = plans(faults)
        #expect(drawn == plans(faults))
        let delays = drawn.map(\.delay).filter { $0 > .zero }
        #expect((900...1100).contains(delays.count))
        #expect(delays.allSatisfy { (.seconds(1) ... .seconds(3)).contains($0) } && Set(delays).count > 800)
        #expect((150...250).contains(drawn.count { $0.ending == .loss }))
        #expect((300...420).contains(drawn.count { $0.ending == .status(.badGateway) }))
        #expect(drawn.allSatisfy { $0.end == nil && $0.corruption == nil && $0.bandwidth == nil })
        // Another rate changes nothing about the faults behind it.
        var others = faults
        others[0] = .delay(.zero, rate: 0)
        #expect(plans(others).map(\.ending) == drawn.map(\.ending))
    }

    @Test func `Delays add up, the lowest bandwidth counts, and the first ending`() {
        let plan = FaultPlan(
            [
                .delay(.seconds(1)), .delay(.seconds(Int.max)), .delay(.seconds(-5)), .bandwidth(100), .bandwidth(0),
                .status(.ok, rate: 1), .loss(rate: 1),
            ], SystemGenerator())
        #expect(plan.delay > .seconds(1 << 30) && plan.bandwidth == 1 && plan.ending == .status(.ok))
        #expect(!plan.faults.contains(.loss(rate: 1)) && plan.faults.count == 6)
    }
}

@Suite(.timeLimit(.minutes(3)))
struct InjectingFaultsTests {
    private let clock = VirtualClock()
    private let stub = StubConnection { _ in Response(status: .ok, body: Body(BytePattern.bytes(1000))) }

    @Test func `A delay is a wait on the clock, which ends at the deadline and by cancellation`() async throws {
        let connection = stub.injectingFaults(.delay(.seconds(5)), clock: clock)
        let call = Task { try await connection.send(.get("https://a.example/")) }
        try await clock.waitForSleepers()
        #expect(clock.pendingSleeps == [.seconds(5)] && stub.requests.isEmpty)
        clock.advance(by: .seconds(5))
        #expect(try await call.value.metadata.injectedFaults == [.delay(.seconds(5))])

        let late = Task { [clock] in
            var request = try Request.get("https://a.example/")
            request.options.deadline = clock.now + .seconds(2)
            return try await connection.send(request)
        }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(2))
        let error = await #expect(throws: TransportError.self) { try await late.value }
        #expect(error?.code == .deadlineExceeded && error?.elapsed == .seconds(2))

        let cancelled = Task { try await connection.send(.get("https://a.example/")) }
        try await clock.waitForSleepers()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(stub.requests.count == 1)
    }

    @Test func `The bandwidth holds for both directions, and the reader holds the server back`() async throws {
        let clock = ImpatientClock()
        let counted = Monitor(0)
        let server = StubConnection { request in
            let content = try await request.body.data(upTo: 1 << 10)
            #expect(content == BytePattern.bytes(500))
            let chunks = AsyncStream { continuation in
                for _ in 0..<10 { continuation.yield(Data(count: 100)) }
                continuation.finish()
            }
            return Response(
                status: .ok,
                body: Body(chunks: chunks).observed { if case .chunk = $0 { _ = counted.increment() } })
        }
        let connection = server.injectingFaults(.bandwidth(100), clock: clock)
        let start = clock.now
        let response = try await connection.send(.put("https://a.example/", body: Body(BytePattern.bytes(500))))
        #expect(clock.now - start == .seconds(5))
        var reader = try await response.body.open()
        #expect(try await reader.next()?.count == 10 && counted.state == 1)
        var count = 10
        while let chunk = try await reader.next() { count += chunk.count }
        #expect(count == 1000 && counted.state == 10 && clock.now - start == .seconds(15))
    }

    @Test func `A slow body ends at its deadline, by cancellation, and when it is dropped`() async throws {
        let events = Monitor<[String]>([])
        let server = StubConnection { _ in
            let body = Body(Data(count: 100)).observed { event in events.update { $0.append("\(event)") } }
            return Response(status: .ok, body: body)
        }
        let connection = server.injectingFaults(.bandwidth(10), clock: clock)
        var request = try Request.get("https://a.example/")
        request.options.bodyDeadline = clock.now + .milliseconds(50)
        let limited = try await connection.send(request).body
        let late = Task { try await limited.data(upTo: 100) }
        try await clock.waitForSleepers()
        clock.advance(by: .milliseconds(50))
        let error = await #expect(throws: TransportError.self) { try await late.value }
        #expect(error?.code == .deadlineExceeded && error?.stage == .body)

        let body = try await connection.send(.get("https://a.example/")).body
        let cancelled = Task { try await body.data(upTo: 100) }
        try await clock.waitForSleepers()
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }

        events.update { $0 = [] }
        _ = try await connection.send(.get("https://a.example/"))
        #expect(events.state == ["abandoned"])
    }

    @Test func `A lost connection and a forced status send nothing, and name themselves`() async throws {
        let call = CallContext(keepingHistory: 10)
        var request = try Request.get("https://a.example/")
        request.options.callContext = call
        let lossy = stub.injectingFaults(.loss(rate: 1), clock: clock)
        let error = try #require(await #expect(throws: TransportError.self) { try await lossy.send(request) })
        #expect(error.code == .connectionLost && error.stage == .head && "\(error)".contains("by injectingFaults"))
        #expect("\(error)".contains("a.example") && call.history.map(\.words) == ["injects loss"])

        let refusing = stub.injectingFaults(.status(.serviceUnavailable, rate: 1), clock: clock)
        let response = try await refusing.send(request)
        #expect(response.status == .serviceUnavailable && response.metadata.source == .injectedFault)
        #expect(response.metadata.injectedFaults == [.status(.serviceUnavailable, rate: 1)])
        #expect(response.head.headerFields == [.cacheControl: "no-store"] && stub.requests.isEmpty)

        let cancelled = Task {
            try? await Gate().wait()
            return try await refusing.send(.get("https://a.example/"))
        }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    @Test(arguments: [1000, nil] as [Int64?])
    func `Truncated content ends too early with an error`(length: Int64?) async throws {
        for seed in 0..<50 as Range<UInt64> {
            let server = StubConnection { _ in
                Response(status: .ok, body: Body(chunks: AsyncStream.pattern(of: 10), length: length))
            }
            let connection = server.injectingFaults(
                .truncation(rate: 1), clock: clock, generator: SeededGenerator(seed: seed))
            var reader = try await connection.send(.get("https://a.example/")).body.open()
            var content = Data()
            let error = await #expect(throws: TransportError.self) {
                while let chunk = try await reader.next() { content += chunk }
            }
            #expect(error?.code == .truncated && error?.stage == .body)
            #expect(content.count <= 1000 && BytePattern.matches(content))
            // A second reading does not seem to end well.
            await #expect(throws: TransportError.self) { try await reader.next() }
        }
    }

    @Test func `Corrupt content has a wrong byte, the same one in each reading, and is not stored`() async throws {
        let server = StubConnection { _ in
            Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: Body(BytePattern.bytes(1000)))
        }
        let connection = server.injectingFaults(.corruption(rate: 1), clock: clock)
        let response = try await connection.send(.get("https://a.example/"))
        let readings = [try await response.body.data(upTo: 1000), try await response.body.data(upTo: 1000)]
        #expect(readings[0] == readings[1] && response.head.headerFields[.cacheControl] == "no-store")
        #expect(zip(readings[0], BytePattern.bytes(1000)).count { $0 != $1 } == 1)

        let cached = connection.caching(in: MemoryResponseStore(), clock: clock)
        for _ in 0..<2 { _ = try await cached.send(.get("https://a.example/")).body.data(upTo: 1000) }
        #expect(server.requests.count == 3)
    }

    @Test func `Requests can be left out, by the option and by the closure`() async throws {
        let connection = stub.injectingFaults(
            .loss(rate: 1), to: { $0.head.path != "/health" }, clock: clock)
        #expect(try await connection.send(.get("https://a.example/health")).metadata.injectedFaults.isEmpty)
        var request = try Request.get("https://a.example/")
        request.options.allowsFaults = false
        #expect(try await connection.send(request).status == .ok)
        await #expect(throws: TransportError.self) { try await connection.send(.get("https://a.example/")) }
    }

    @Test func `Its layer declares what the faults can do`() throws {
        let faults: [(Fault, Set<Layer.Fact>, ClosedRange<Int>)] = [
            (.delay(.seconds(2)), [.waits], 1...1), (.loss(rate: 0.1), [.refuses], 0...1),
            (.status(.ok, rate: 0.1), [.answers, .inventsAnswers], 0...1), (.truncation(rate: 0.1), [], 1...1),
            (.corruption(rate: 0.1), [.changesResponse], 1...1), (.loss(rate: 0), [], 1...1),
        ]
        for (fault, facts, times) in faults {
            let layer = try #require(stub.injectingFaults(fault, clock: clock).layers.first)
            #expect(layer.facts == facts.union([Layer.Fact("injectsFaults")]), "\(fault)")
            #expect(layer.sending.times == times, "\(fault)")
        }
        for fault in [.delay(.seconds(-1)), .bandwidth(0), .loss(rate: 1.5), .loss(rate: -1), .loss(rate: .nan)]
            as [Fault]
        {
            let layer = try #require(stub.injectingFaults(fault, clock: clock).layers.first)
            #expect(layer.facts.contains(Layer.Fact("unsoundSettings")), "\(fault)")
        }
        let layer = stub.injectingFaults(.delay(.seconds(2)), .loss(rate: 0.25), clock: clock).layers.first
        #expect(layer?.description == "injectingFaults(faults: [delay of 2.0 seconds, loss (0.25)])")
        #expect(layer?.time.waiting == .atMost(.seconds(2)))
    }

    @Test(arguments: DecoratorLaw.all)
    func `A layer that injects faults keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { base, conditions in
            base.injectingFaults(.delay(.seconds(1)), .bandwidth(1 << 20), clock: conditions.clock)
        }
    }
}

extension AsyncStream<Data> {
    /// The bytes of the pattern, in chunks of 100 bytes.
    fileprivate static func pattern(of chunks: Int) -> AsyncStream {
        AsyncStream { continuation in
            for number in 0..<chunks { continuation.yield(BytePattern.bytes(100, at: Int64(number) * 100)) }
            continuation.finish()
        }
    }
}
