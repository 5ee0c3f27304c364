import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct LimitingTests {
    private let clock = VirtualClock()
    private let server = GatedServer()

    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "No request of the laws is refused."))
    func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        try await law.check { base, conditions in base.limiting(clock: conditions.clock) }
        try await law.check { base, conditions in
            base.limiting(
                LimitPolicy(Limits(.adaptive(within: 1...5), rate: .init(1000, per: .seconds(1)))),
                in: RequestLimiter(),
                clock: conditions.clock)
        }
    }

    @Test func `As many requests as the limit allows are on their way to each origin`() async throws {
        let connection = server.limiting(LimitPolicy(Limits(.fixed(2))), clock: clock)
        let calls = (0..<6).map { number in
            Task { try await connection.send(.get("https://\(number < 5 ? "a" : "b").example/\(number)")) }
        }
        try await yield { server.paths.count == 3 }
        for count in 1...3 {
            server.gate.admit()
            try await yield { server.answers == count }
        }
        server.gate.open()
        for call in calls { #expect(try await call.value.status == .ok) }
        #expect(server.mostRunning == ["a.example": 2, "b.example": 1])
    }

    @Test func `A group with limits of its own has them for all origins`() async throws {
        let policy = LimitPolicy(Limits(.fixed(6)), groups: ["images": Limits(.fixed(1))])
        let limiter = RequestLimiter()
        let connection = server.limiting(policy, in: limiter, clock: clock)
        let calls = try ["a", "b", "c"].map { host in
            let request = try Request.get("https://\(host).example/", group: host == "c" ? nil : "images")
            return Task { try await connection.send(request) }
        }
        try await yield { server.paths.count == 2 && limiter.snapshot.all.waiting == 1 }
        #expect(limiter.snapshot.groups["images"] == .init(waiting: 1, running: 1))
        #expect(limiter.snapshot.limits.map(\.name) == ["c.example:443", "the group images"])
        server.gate.open()
        for call in calls { _ = try await call.value }
        #expect(limiter.snapshot.all == .init())
    }

    @Test func `The most important request is sent first, and a deferred one when nothing else goes on`() async throws {
        let limiter = RequestLimiter()
        let connection = server.limiting(LimitPolicy(Limits(.fixed(1))), in: limiter, clock: clock)
        var prefetch = try Request.get("https://a.example/prefetch")
        prefetch.options.setLowPriority(in: "prefetch")
        #expect(prefetch.options.group == "prefetch" && prefetch.options.priority == .background)
        let requests = [
            try Request.get("https://a.example/first"), prefetch,
            try .get("https://a.example/low", priority: .background), try .get("https://a.example/middle"),
            try .get("https://a.example/high", priority: .high),
        ]
        var calls: [Task<Response, any Error>] = []
        for (number, request) in requests.enumerated() {
            calls.append(Task { try await connection.send(request) })
            try await yield { limiter.snapshot.all == .init(waiting: number, running: 1) }
        }
        server.gate.open()
        for call in calls { _ = try await call.value }
        #expect(server.paths == ["/first", "/high", "/middle", "/low", "/prefetch"])
    }

    @Test func `A deferred request takes its turn at the end of its deferral`() async throws {
        let limiter = RequestLimiter()
        let connection = server.limiting(LimitPolicy(Limits(.fixed(2))), in: limiter, clock: clock)
        let first = Task { try await connection.send(.get("https://a.example/")) }
        try await yield { limiter.snapshot.all.running == 1 }
        var request = try Request.get("https://a.example/prefetch")
        request.options.setLowPriority(deferredFor: .seconds(10))
        let deferred = Task { [request] in try await connection.send(request) }
        try await clock.waitForSleepers()
        #expect(limiter.snapshot.all == .init(waiting: 1, running: 1))
        clock.advance(by: .seconds(10))
        try await yield { limiter.snapshot.all == .init(waiting: 0, running: 2) }
        server.gate.open()
        _ = try await (first.value, deferred.value)
    }

    @Test func `A waiting request leaves when it is cancelled, and at its deadline`() async throws {
        let limiter = RequestLimiter()
        let connection = server.limiting(LimitPolicy(Limits(.fixed(1))), in: limiter, clock: clock)
        let first = Task { try await connection.send(.get("https://a.example/")) }
        try await yield { limiter.snapshot.all.running == 1 }
        let cancelled = Task { try await connection.send(.get("https://a.example/")) }
        let call = CallContext(keepingHistory: 10)
        var request = try Request.get("https://a.example/")
        request.options.deadline = clock.now + .seconds(5)
        request.options.callContext = call
        let late = Task { [request] in try await connection.send(request) }
        try await yield { limiter.snapshot.all.waiting == 2 && call.history.count == 1 }

        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: LimitError.self) { try await late.value }
        #expect(error?.reason == .timeOver && error?.meansNotProcessed == true && error?.mayPass == true)
        #expect(call.history.map(\.kind) == [.waits, .givesUp])
        #expect(limiter.snapshot.all == .init(waiting: 0, running: 1))
        server.gate.open()
        _ = try await first.value
        #expect(server.paths.count == 1 && limiter.snapshot.all == .init())
    }

    @Test func `A request is refused at once where it cannot be in time, and where the queue is full`() async throws {
        let policy = LimitPolicy(Limits(.fixed(1)), longestQueue: 1)
        let connection = server.limiting(policy, clock: clock)
        // The limiter learns that a request takes four seconds.
        let slow = Task { try await connection.send(.get("https://a.example/")) }
        try await server.gate.waitForWaiting(1)
        clock.advance(by: .seconds(4))
        server.gate.admit()
        _ = try await slow.value
        let running = Task { try await connection.send(.get("https://a.example/")) }
        try await server.gate.waitForWaiting(1)
        var request = try Request.get("https://a.example/")
        request.options.deadline = clock.now + .seconds(7)
        let tooLate = await #expect(throws: LimitError.self) { try await connection.send(request) }
        let wait = try #require(tooLate?.wait)
        #expect(tooLate?.reason == .tooLate && abs(wait / .seconds(4) - 1) < 0.001)
        #expect(tooLate?.earliestRetry == clock.now + wait && tooLate?.meansServerNotReached == true)

        let low = Task { try await connection.send(.get("https://a.example/low", priority: .low)) }
        try await clock.waitForSleepers()
        let full = await #expect(throws: LimitError.self) {
            try await connection.send(.get("https://a.example/low", priority: .low))
        }
        #expect(full?.reason == .queueFull && full?.waiting == 1)
        #expect(full?.description.contains("1 requests wait already for the limits of a.example:443") == true)
        let high = Task { try await connection.send(.get("https://a.example/high", priority: .high)) }
        #expect(await #expect(throws: LimitError.self) { try await low.value }?.reason == .displaced)
        server.gate.open()
        _ = try await (running.value, high.value)
    }

    @Test(arguments: Ending.allCases)
    func `A place is given back in every case`(ending: Ending) async throws {
        let limiter = RequestLimiter()
        for limiter in [limiter, nil] {
            let stub = StubConnection(answers: [ending.answer])
            let connection = stub.limiting(LimitPolicy(Limits(.fixed(1))), in: limiter, clock: clock)
            try await ending.call(connection, over: stub)
            stub.enqueue { _ in Response(status: .ok) }
            #expect(try await connection.send(.get("https://a.example/")).status == .ok)
        }
        #expect(limiter.snapshot.all == .init())
    }

    @Test(arguments: [LimitPolicy.Release.body, .head])
    func `A request is on its way until its body has been read, or only until its head is there`(
        release: LimitPolicy.Release
    ) async throws {
        let stub = StubConnection { _ in
            Response(status: .ok, body: Body(chunks: AsyncStream { $0.yield(Data("a".utf8)) }))
        }
        let policy = LimitPolicy(Limits(.fixed(1)), longestWait: .seconds(3), release: release)
        let connection = stub.limiting(policy, clock: clock)
        let response = try await connection.send(.get("https://a.example/list"))
        var chunks = response.body.makeAsyncIterator()
        _ = try await chunks.next()

        let item = Task { try await connection.send(.get("https://a.example/item")) }
        if release == .head {
            #expect(try await item.value.status == .ok)
        } else {
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(3))
            let error = await #expect(throws: LimitError.self) { try await item.value }
            #expect(error?.description.contains("read or drop the bodies of earlier responses") == true)
        }
        #expect(connection.layers[0].settings.contains { $0.name == "release" } == (release == .head))
    }

    @Test func `A rate lets the next request through when its time has come`() async throws {
        let policy = LimitPolicy(Limits(rate: .init(2, per: .seconds(1))), per: .all)
        let connection = StubConnection { _ in Response(status: .ok) }.limiting(policy, clock: clock)
        for _ in 0..<2 { _ = try await connection.send(.get("https://a.example/")) }
        let third = Task { try await connection.send(.get("https://b.example/")) }
        // One sleep ends the longest wait, and one brings the next token.
        try await clock.waitForSleepers(2)
        #expect(clock.pendingSleeps.first == .milliseconds(500))
        clock.advance(by: .milliseconds(500))
        #expect(try await third.value.status == .ok)
    }

    @Test func `Durations without a bound and limits of zero are no traps`() async throws {
        let endless = LimitPolicy(Limits(rate: .init(1, per: .seconds(Int64.max))), longestWait: .seconds(Int64.max))
        let connection = StubConnection { _ in Response(status: .ok) }.limiting(endless, clock: clock)
        _ = try await connection.send(.get("https://a.example/"))
        let waiting = Task { try await connection.send(.get("https://a.example/")) }
        try await clock.waitForSleepers()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }

        let closed = StubConnection().limiting(LimitPolicy(Limits(.fixed(0))))
        let error = await #expect(throws: LimitError.self) { try await closed.send(.get("https://a.example/")) }
        #expect(error?.reason == .closed && error?.mayPass == false)
        #expect(error?.description.contains("Use at least 1") == true)
        #expect(closed.layers[0].facts.contains(.letsNothingPass))
    }

    @Test func `It belongs inside of retries and outside of signatures`() throws {
        let stub = StubConnection()
        let good = stub.limiting(clock: clock).retrying(clock: clock).limitingTime(clock: clock)
        #expect(good.findings.filter { $0.places.contains { $0.layer.name == "limiting" } }.isEmpty, "\(good.findings)")
        #expect(stub.retrying().limiting().limitingTime().findings.map(\.hazard).contains("limitOutsideOfRetries"))
        let signed = stub.limiting().intercepting("signing", facts: [.signs]) { try await $1.send($0) }
        #expect(signed.findings.map(\.hazard).contains("signatureOutsideOfWaits"))
        let limiter = RequestLimiter()
        #expect(stub.limiting(in: limiter).layers[0].memory.state == [Layer.StateIdentity(limiter)])
        #expect(stub.limiting().layers[0].description == "limiting(concurrency: 6, per: origin)")
        #expect(stub.limiting(.adaptive).layers[0].facts.contains(.readsStatus))
        let stack = try StandardStack(for: "https://a.example/").composed(over: stub, adding: [.limiting()])
        let names = stack.layers.map(\.name)
        let place = try #require(names.firstIndex(of: "limiting"))
        #expect(names[place - 1] == "pacing" && names[place + 1] == "limitingTime")
    }

    @Test func `Under many requests and cancellations, no limit is exceeded and no place is lost`() async throws {
        let limiter = RequestLimiter()
        let (server, generator) = (GatedServer(), SeededGenerator(seed: 7))
        server.gate.open()
        let connection = server.limiting(LimitPolicy(Limits(.fixed(3)), longestQueue: 20), in: limiter)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<(Footprint.isSoak ? 20_000 : 500) {
                let (isCancelled, turns) = (generator.uniform() < 0.3, Int(generator.uniform() * 20))
                group.addTask {
                    let call = Task {
                        let body = try await connection.send(.get("https://\(number % 2).example/")).body
                        if turns % 2 == 0 { for try await _ in body {} }
                    }
                    for _ in 0..<turns { await Task.yield() }
                    if isCancelled { call.cancel() }
                    _ = await call.result
                }
            }
        }
        #expect(server.mostRunning.values.allSatisfy { $0 <= 3 })
        #expect(await soon { limiter.snapshot.all == .init() })
    }

    @Test func `Limits of origins that are not in use are forgotten`() async throws {
        let limiter = RequestLimiter()
        let connection = StubConnection { _ in Response(status: .ok) }.limiting(in: limiter)
        for number in 0..<1500 { _ = try await connection.send(.get("https://\(number).example/")) }
        #expect(limiter.snapshot.limits.count <= 8 * LimitTable.laneLimit)
    }
}

/// The ways in which a request ends.
enum Ending: String, CaseIterable, CustomTestStringConvertible {
    case read, unread, halfRead, empty, inMemory, error, timeout, cancelled, failing, replayed

    var testDescription: String { rawValue }

    func answer(_ request: Request) async throws -> Response {
        let chunks = AsyncThrowingStream<Data, any Error> { stream in
            stream.yield(Data("one".utf8))
            stream.yield(Data("two".utf8))
            stream.finish(throwing: self == .failing ? TransportError(.connectionLost, at: .body) : nil)
        }
        switch self {
        case .empty: return Response(status: .noContent)
        case .inMemory: return Response(status: .ok, body: "text")
        case .error: throw TransportError(.connectionLost, at: .head)
        case .timeout: throw TransportError(.timedOut, at: .head)
        case .cancelled: try await Gate().wait()
        case .replayed:
            return Response(status: .ok, body: Body(replay: .fromStart) { _ in try await Body(chunks: chunks).open() })
        default: break
        }
        return Response(status: .ok, body: Body(chunks: chunks))
    }

    func call(_ connection: some Connection, over stub: StubConnection) async throws {
        switch self {
        case .error, .timeout:
            await #expect(throws: TransportError.self) { try await connection.send(.get("https://a.example/")) }
        case .cancelled:
            let call = Task { try await connection.send(.get("https://a.example/")) }
            try await yield { !stub.requests.isEmpty }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        case .unread: _ = try await connection.send(.get("https://a.example/"))
        case .halfRead:
            var chunks = try await connection.send(.get("https://a.example/")).body.makeAsyncIterator()
            #expect(try await chunks.next() == Data("one".utf8))
        case .failing:
            let response = try await connection.send(.get("https://a.example/"))
            await #expect(throws: TransportError.self) { for try await _ in response.body {} }
        case .read, .replayed, .empty, .inMemory:
            let response = try await connection.send(.get("https://a.example/"))
            for try await _ in response.body {}
            // The place is free although the body is still there.
            withExtendedLifetime(response) {}
        }
    }
}

/// A server whose answers wait at a gate, and which counts the requests on their way.
final class GatedServer: Connection {
    let gate = Gate()
    private let state = Mutex((paths: [String](), running: [String: Int](), most: [String: Int](), answers: 0))

    var paths: [String] { state.withLock { $0.paths } }
    var mostRunning: [String: Int] { state.withLock { $0.most } }
    var answers: Int { state.withLock { $0.answers } }

    func send(_ request: consuming Request) async throws -> Response {
        let (host, path) = (request.head.authority ?? "", request.head.path ?? "")
        state.withLock { state in
            state.paths.append(path)
            state.running[host, default: 0] += 1
            state.most[host] = max(state.most[host] ?? 0, state.running[host] ?? 0)
        }
        defer {
            state.withLock { state in
                state.running[host, default: 0] -= 1
                state.answers += 1
            }
        }
        try await gate.wait()
        return Response(status: .ok)
    }
}

extension Request {
    static func get(_ url: String, group: RequestGroup? = nil, priority: TaskPriority? = nil) throws -> Request {
        var request = try Request(.get, url)
        request.options.group = group
        request.options.priority = priority
        return request
    }
}
