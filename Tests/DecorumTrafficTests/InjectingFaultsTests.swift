import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3))) struct InjectingFaultsTests {
    private let clock = VirtualClock()
    private let call = CallContext(keepingHistory: 10)
    private let stub = StubConnection { _ in
        Response(status: .ok, fields: [.cacheControl: "max-age=60"], body: Body(BytePattern.bytes(1000)))
    }

    private func request(within time: Duration = .seconds(60)) throws -> Request {
        var request = try Request.get("https://a.example/", in: call)
        request.options.bodyDeadline = clock.now + time
        return request
    }

    @Test func `M88: Each request gets each fault with its rate, and all numbers follow from the seed`() {
        let others: [Fault] = [
            .loss(rate: 0.1), .status(.badGateway, rate: 0.2), .truncation(rate: 0), .corruption(rate: .nan),
        ]
        func plans(delayed rate: Double) -> [FaultPlan] {
            let generator = SeededGenerator(seed: 20)
            let faults = [.delay(.seconds(1) ... .seconds(3), rate: rate)] + others
            return (0..<2000).map { _ in FaultPlan(faults, generator) }
        }
        let drawn = plans(delayed: 0.5)
        let delays = drawn.map(\.delay).filter { $0 > .zero }
        #expect((900...1100).contains(delays.count) && Set(delays).count > 800)
        #expect(delays.allSatisfy { (.seconds(1) ... .seconds(3)).contains($0) })
        #expect((150...250).contains(drawn.count { $0.ending == .loss(rate: 0.1) }))
        #expect((300...420).contains(drawn.count { $0.ending == .status(.badGateway, rate: 0.2) }))
        #expect(drawn.allSatisfy { $0.end == nil && $0.corruption == nil } && drawn == plans(delayed: 0.5))
        // Another rate changes nothing about the faults behind it.
        #expect(plans(delayed: 0).map(\.ending) == drawn.map(\.ending))
    }

    @Test func `Delays add up, the lowest bandwidth counts, and the first ending`() {
        let delays: [Fault] = [.delay(.seconds(1)), .delay(.seconds(Int.max)), .delay(.seconds(-5))]
        let faults = delays + [.bandwidth(100), .bandwidth(0), .status(.ok, rate: 1), .loss(rate: 1)]
        let plan = FaultPlan(faults, SystemGenerator())
        #expect(plan.delay > .seconds(1 << 30) && plan.bandwidth == 1 && plan.ending == .status(.ok, rate: 1))
        #expect(plan.faults == faults.dropLast())
    }

    @Test func `A delay waits, the bandwidth holds in both directions, and a slow reader slows all`() async throws {
        let clock = ImpatientClock()
        let transfer = GatedTransfer.open
        let server = StubConnection { request in
            let content = try await request.body.data(upTo: 1 << 10)
            #expect(content == BytePattern.bytes(500))
            return Response(status: .ok, body: transfer.body(chunks: 10, of: 100))
        }
        let faults: [Fault] = [.delay(.seconds(3)), .bandwidth(100)]
        let connection = server.injectingFaults(faults[0], faults[1], clock: clock)
        let start = clock.now
        let response = try await connection.send(.put("https://a.example/", body: Body(BytePattern.bytes(500))))
        #expect(clock.now - start == .seconds(8) && response.metadata.injectedFaults == faults)
        var reader = try await response.body.open()
        #expect(try await reader.next()?.count == 10 && transfer.chunksRead == 1)
        var count = 10
        while let chunk = try await reader.next() { count += chunk.count }
        #expect(count == 1000 && clock.now - start == .seconds(18))
    }

    @Test func `A slow body ends at its deadline`() async throws {
        let connection = stub.injectingFaults(.bandwidth(100), clock: clock)
        let call = Task { try await connection.send(request(within: .milliseconds(50))).body.data(upTo: 1000) }
        try await clock.waitForSleepers()
        clock.advance(by: .milliseconds(50))
        let error = try await #require(throws: TransportError.self) { try await call.value }
        #expect(error.code == .deadlineExceeded && error.stage == .body && error.elapsed == .milliseconds(50))
    }

    @Test func `A lost connection and a forced status send nothing, and name themselves`() async throws {
        var request = try request()
        let lossy = stub.injectingFaults(.loss(rate: 1), clock: clock)
        let error = try await #require(throws: TransportError.self) { try await lossy.send(request) }
        #expect(error.code == .connectionLost && error.stage == .head && error.detail == "by injectingFaults")
        #expect("\(error)".contains("a.example") && call.history.map(\.words) == ["injects loss"])
        let refusing = stub.injectingFaults(.status(.serviceUnavailable, rate: 1), clock: clock)
        let response = try await refusing.send(request)
        #expect(response.status == .serviceUnavailable && response.metadata.source == .injectedFault)
        #expect(response.metadata.injectedFaults == [.status(.serviceUnavailable, rate: 1)])
        #expect(response.head.headerFields == [.cacheControl: "no-store"] && stub.requests.isEmpty)

        request.options.allowsFaults = false
        #expect(try await lossy.send(request).status == .ok)
        let others = stub.injectingFaults(.loss(rate: 1), to: { $0.head.path != "/" }, clock: clock)
        #expect(try await others.send(self.request()).status == .ok)
    }

    @Test(arguments: [1000, nil] as [Int64?])
    func `Truncated content ends too early with an error`(length: Int64?) async throws {
        let server = StubConnection { _ in
            Response(status: .ok, body: GatedTransfer.open.body(length: length, chunks: 10, of: 100))
        }
        let generator = SeededGenerator(seed: 1)
        let connection = server.injectingFaults(.truncation(rate: 1), clock: clock, generator: generator)
        for _ in 0..<50 {
            var reader = try await connection.send(request()).body.open()
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
        let connection = stub.injectingFaults(.corruption(rate: 1), clock: clock)
        let body = try await connection.send(request()).body
        let content = try await body.data(upTo: 1000)
        #expect(try await body.data(upTo: 1000) == content)
        #expect(zip(content, BytePattern.bytes(1000)).count { $0 != $1 } == 1)

        let cached = connection.caching(in: MemoryResponseStore(), clock: clock)
        for _ in 0..<2 { _ = try await cached.send(request()).body.data(upTo: 1000) }
        #expect(stub.requests.count == 3)
    }

    @Test(
        arguments: [
            (.delay(.seconds(2)), [.waits], 1...1), (.loss(rate: 0.1), [.refuses], 0...1),
            (.status(.ok, rate: 0.1), [.answers, .inventsAnswers], 0...1), (.truncation(rate: 0.1), [], 1...1),
            (.corruption(rate: 0.1), [.changesResponse], 1...1), (.delay(.seconds(-1)), [.unsoundSettings], 1...1),
            (.bandwidth(0), [.unsoundSettings, .waits], 1...1), (.loss(rate: .nan), [.unsoundSettings], 1...1),
            (.loss(rate: 1.5), [.unsoundSettings, .refuses], 0...1), (.loss(rate: 0), [], 1...1),
        ] as [(Fault, Set<Layer.Fact>, ClosedRange<Int>)])
    func `Its layer declares what faults can do`(fault: Fault, facts: Set<Layer.Fact>, times: ClosedRange<Int>) {
        let layer = stub.injectingFaults(fault, .truncation(rate: 0.25), clock: clock).layers[0]
        #expect(layer.facts == facts.union([.injectsFaults]) && layer.sending.times == times)
        #expect(layer.description == "injectingFaults(faults: [\(fault), truncation (0.25)])")
        if fault == .delay(.seconds(2)) { #expect(layer.time.waiting == .atMost(.seconds(2))) }
    }

    @Test(arguments: DecoratorLaw.all)
    func `A layer that injects faults keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { base, conditions in
            base.injectingFaults(.delay(.seconds(1)), .bandwidth(1 << 20), clock: conditions.clock)
        }
    }
}
