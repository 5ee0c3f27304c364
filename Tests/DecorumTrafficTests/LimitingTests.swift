import Decorum
import DecorumConformance
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct LimitingTests {
    private let clock = VirtualClock()
    private let limiter = RequestLimiter()
    private let gate = Gate()
    private let server: StubConnection
    private var paths: [String] { server.requests.compactMap(\.head.path) }

    /// Creates a server whose answers wait at a gate.
    init() { server = StubConnection { [gate] _ in try await gate.response() } }

    private func connection(_ count: Int) -> some Connection {
        server.limiting(LimitPolicy(Limits(.fixed(count))), in: limiter, clock: clock)
    }

    /// Starts a call, and waits until as many requests wait and run.
    private func start(
        _ connection: some Connection, _ path: String, in group: RequestGroup? = nil, priority: TaskPriority? = nil,
        waiting: Int, running: Int
    ) async throws -> Task<Response, any Error> {
        let request = try Request.get("https://a.example\(path)", group: group, priority: priority)
        let call = Task { try await connection.send(request) }
        try await reach(waiting: waiting, running: running)
        return call
    }

    private func reach(waiting: Int, running: Int) async throws {
        try await yield { limiter.snapshot.all == .init(waiting: waiting, running: running) }
    }

    @Test(arguments: DecoratorLaw.all.excluding(.shownDeclarations, because: "No request of the laws is refused."))
    func `The layer keeps the laws`(law: DecoratorLaw) async throws {
        let policy = LimitPolicy(Limits(.adaptive(within: 1...5), rate: .init(1000, per: .seconds(1))))
        for (policy, limiter) in [(.standard, nil), (policy, RequestLimiter())] {
            try await law.check { base, conditions in base.limiting(policy, in: limiter, clock: conditions.clock) }
        }
    }

    @Test func `M33: A group with limits of its own has them for all origins`() async throws {
        let policy = LimitPolicy(Limits(), groups: ["images": Limits(.fixed(1))])
        let connection = server.limiting(policy, in: limiter, clock: clock)
        let calls = ["a", "b", "c"].map { host in
            Task { try await connection.send(.get("https://\(host).example/", group: host == "c" ? nil : "images")) }
        }
        try await reach(waiting: 1, running: 2)
        let snapshot = limiter.snapshot
        #expect(snapshot.groups == ["images": .init(waiting: 1, running: 1)] && snapshot.limits.count == 2)
        #expect(snapshot.limits[.group("images")] == .init(waiting: 1, running: 1, concurrency: 1))
        #expect(snapshot.description == "1 waiting, 2 running")
        gate.open()
        for call in calls { _ = try await call.value }
    }

    @Test(arguments: [false, true])
    func `M30: A deferred request waits until nothing else goes on, or its deferral ends`(ends: Bool) async throws {
        let connection = connection(2)
        var request = try Request.get("https://a.example/deferred")
        request.options.setLowPriority(in: "prefetch", deferredFor: .seconds(10))
        #expect(request.options.group == "prefetch" && request.options.priority == .background)
        let first = try await start(connection, "/", waiting: 0, running: 1)
        let deferred = Task { [request] in try await connection.send(request) }
        try await clock.waitForSleepers()
        let next = try await start(connection, "/next", priority: .low, waiting: 1, running: 2)
        gate.admit()
        try await reach(waiting: 1, running: 1)
        if ends { clock.advance(by: .seconds(10)) } else { gate.open() }
        try await yield { paths.count == 3 && paths.last == "/deferred" }
        gate.open()
        for call in [first, next, deferred] { _ = try await call.value }
    }

    @Test func `A waiting request leaves at its deadline, as its call context shows`() async throws {
        let (connection, call) = (connection(1), CallContext(keepingHistory: 10))
        let first = try await start(connection, "/", waiting: 0, running: 1)
        let request = try Request.get("https://a.example/", deadline: clock.now + .seconds(5), in: call)
        let late = Task { try await connection.send(request) }
        try await yield { limiter.snapshot.all.waiting == 1 && call.history.count == 1 }
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: LimitError.self) { try await late.value }
        #expect(error?.reason == .timeOver && error?.meansNotProcessed == true && error?.mayPass == true)
        #expect(call.history.map(\.kind) == [.waits, .givesUp])
        gate.open()
        _ = try await first.value
        #expect(paths.count == 1)
    }

    @Test func `A request is refused at once where it cannot be in time, and where the queue is full`() async throws {
        let policy = LimitPolicy(Limits(.fixed(1)), longestQueue: 1)
        let connection = server.limiting(policy, in: limiter, clock: clock)
        // The limiter learns that a request takes four seconds.
        let slow = try await start(connection, "/", waiting: 0, running: 1)
        try await gate.waitForWaiting(1)
        clock.advance(by: .seconds(4))
        gate.admit()
        _ = try await slow.value
        let running = try await start(connection, "/", waiting: 0, running: 1)
        var request = try Request.get("https://a.example/", deadline: clock.now + .seconds(7))
        let tooLate = await #expect(throws: LimitError.self) { try await connection.send(request) }
        let wait = try #require(tooLate?.wait)
        #expect(tooLate?.reason == .tooLate && abs(wait / .seconds(4) - 1) < 0.001)
        #expect(tooLate?.earliestRetry == clock.now + wait && tooLate?.meansServerNotReached == true)

        let low = try await start(connection, "/low", priority: .low, waiting: 1, running: 1)
        request = try .get("https://a.example/low", priority: .low)
        let full = await #expect(throws: LimitError.self) { try await connection.send(request) }
        #expect(full?.reason == .queueFull && full?.waiting == 1)
        #expect(full?.description.contains("1 others wait for the limits of a.example:443") == true)
        let high = Task { try await connection.send(.get("https://a.example/high", priority: .high)) }
        #expect(await #expect(throws: LimitError.self) { try await low.value }?.reason == .queueFull)
        gate.open()
        _ = try await (running.value, high.value)
    }

    @Test(arguments: [true, false])
    func `A body that is dropped halfway, fails or is read gives its place back`(isSteered: Bool) async throws {
        let chunks = { @Sendable (failure: TransportError?) in
            let stream = AsyncThrowingStream<Data, any Error> { stream in
                for text in ["one", "two"] { stream.yield(Data(text.utf8)) }
                stream.finish(throwing: failure)
            }
            return Body(chunks: stream)
        }
        let stub = StubConnection(answers: [
            { _ in Response(status: .ok, body: chunks(nil)) },
            { _ in Response(status: .ok, body: chunks(TransportError(.connectionLost, at: .body))) },
            { _ in Response(status: .ok, body: Body(replay: .fromStart) { _ in try await chunks(nil).open() }) },
            { _ in throw TransportError(.connectionLost, at: .head) }, { _ in Response(status: .ok) },
        ])
        let policy = LimitPolicy(Limits(.fixed(1)))
        let connection = stub.limiting(policy, in: isSteered ? limiter : nil, clock: clock)
        let request = try Request.get("https://a.example/")
        do {
            var body = try await connection.send(request).body.makeAsyncIterator()
            #expect(try await body.next() == Data("one".utf8))
        }
        var responses: [Response] = []
        for fails in [true, false] {
            responses.append(try await connection.send(request))
            var body = responses[responses.count - 1].body.makeAsyncIterator()
            do { while try await body.next() != nil {} } catch { #expect(fails) }
        }
        // The place is free although the responses are still there.
        await #expect(throws: TransportError.self) { try await connection.send(request) }
        #expect(try await connection.send(request).status == .ok && responses.count == 2)
        #expect(limiter.snapshot.all == .init())
    }

    @Test(arguments: [false, true])
    func `A request is on its way until its body or its head is there`(releasesAtHead: Bool) async throws {
        let stub = StubConnection { _ in
            Response(status: .ok, body: Body(chunks: AsyncStream { $0.yield(Data("a".utf8)) }))
        }
        let policy = LimitPolicy(Limits(.fixed(1)), longestWait: .seconds(3), releasesAtHead: releasesAtHead)
        let connection = stub.limiting(policy, clock: clock)
        var chunks = try await connection.send(.get("https://a.example/list")).body.makeAsyncIterator()
        _ = try await chunks.next()

        let item = Task { try await connection.send(.get("https://a.example/item")) }
        if releasesAtHead {
            #expect(try await item.value.status == .ok)
        } else {
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(3))
            let error = await #expect(throws: LimitError.self) { try await item.value }
            #expect(error?.description.contains("read or drop the bodies of earlier responses") == true)
        }
        withExtendedLifetime(chunks) {}
    }

    @Test func `Durations without a bound are no traps, and a limit of zero names the remedy`() async throws {
        let endless = LimitPolicy(
            Limits(rate: .init(1, per: .seconds(Int64.max))), longestWait: .seconds(Int64.max))
        let connection = server.limiting(endless, in: limiter, clock: clock)
        gate.open()
        _ = try await connection.send(.get("https://a.example/"))
        let waiting = try await start(connection, "/", waiting: 1, running: 0)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }

        let closed = self.connection(0)
        let error = await #expect(throws: LimitError.self) { try await closed.send(.get("https://a.example/")) }
        #expect(error?.reason == .closed && error?.description.contains("Use at least 1") == true)
    }

    @Test func `It stands behind pacing and before the time of an attempt`() throws {
        let stub = StubConnection()
        #expect(stub.limiting().layers[0].description == "limiting(concurrency: 6, per: origin)")
        #expect(stub.limiting(.adaptive).layers[0].facts.contains(.readsStatus))
        let stack = try StandardStack(for: "https://a.example/").composed(over: stub, adding: [.limiting()])
        #expect(stack.layers.map(\.name).joined(separator: " ").contains("pacing limiting limitingTime"))
    }

    @Test func `M29: Suspensions count, requests on their way go on, others keep their order or leave`() async throws {
        let connection = connection(2)
        for _ in 0..<2 { limiter.suspend("images") }
        var images: [Task<Response, any Error>] = []
        for number in 1...4 {
            images.append(try await start(connection, "/\(number)", in: "images", waiting: number, running: 0))
        }
        let page = try await start(connection, "/page", waiting: 4, running: 1)
        for (index, running) in [(1, 1), (2, 2)] {
            images[index].cancel()
            await #expect(throws: CancellationError.self) { try await images[index].value }
            limiter.resume("images")
            #expect(limiter.snapshot.all.running == running)
        }
        limiter.suspend()
        gate.open()
        _ = try await (page.value, images[0].value)
        #expect(limiter.snapshot.all == .init(waiting: 1, running: 0))
        limiter.resume()
        _ = try await images[3].value
        #expect(Set(paths.prefix(2)) == ["/page", "/1"] && paths.last == "/4")
    }

    @Test(arguments: [nil, "images"] as [RequestGroup?])
    func `M28: All requests of a limiter or of a group end with the reason`(group: RequestGroup?) async throws {
        // Stacks with equal policies share their limits, and others do not.
        let calls = [
            try await start(connection(2), "/1", in: "images", waiting: 0, running: 1),
            try await start(connection(2), "/2", waiting: 0, running: 2),
            try await start(connection(2), "/3", in: "images", waiting: 1, running: 2),
            try await start(connection(3), "/4", waiting: 1, running: 3),
        ]
        try await yield { paths.count == 3 }

        limiter.cancelAll(reason: "the user has signed out", in: group)

        for number in group == nil ? [0, 1, 2, 3] : [0, 2] {
            let error = await #expect(throws: LimitError.self) { try await calls[number].value }
            #expect(error?.reason == .cancelled && error?.words == "the user has signed out")
            #expect(error?.meansNotProcessed == (number == 2))
            #expect(error?.mayPass == false && error?.meansServerNotReached == false)
            #expect(error?.description.contains("were cancelled: the user has signed out. Send") == true)
        }
        gate.open()
        if group != nil { for number in [1, 3] { _ = try await calls[number].value } }
        #expect(try await connection(2).send(.get("https://a.example/")).status == .ok)
        #expect(await soon { limiter.snapshot.all == .init() })
    }

    @Test func `A body that is being read fails with its next chunk`() async throws {
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        let stub = StubConnection { _ in Response(status: .ok, body: Body(chunks: chunks)) }
        var body = try await stub.limiting(in: limiter).send(.get("https://a.example/")).body.makeAsyncIterator()
        source.yield(Data("one".utf8))
        #expect(try await body.next() == Data("one".utf8))
        limiter.cancelAll(reason: "low memory")
        source.yield(Data("two".utf8))
        #expect(await #expect(throws: LimitError.self) { try await body.next() }?.wasSent == true)
        #expect(limiter.snapshot.all == .init())
    }
}
