import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3)))
struct LimitingSteeringTests {
    private let limiter = RequestLimiter()
    private let server = GatedServer()

    private func connection(_ count: Int) -> some Connection {
        server.limiting(LimitPolicy(Limits(.fixed(count))), in: limiter)
    }

    private func start(_ connection: some Connection, _ path: String, _ group: RequestGroup? = nil) -> Task<
        Response, any Error
    > {
        Task { try await connection.send(.get("https://a.example\(path)", group: group)) }
    }

    @Test func `Two suspensions need two resumptions, and requests on their way go on`() async throws {
        let connection = connection(3)
        let first = start(connection, "/first")
        try await yield { server.paths.count == 1 }
        limiter.suspend()
        limiter.suspend()
        let low = Task { try await connection.send(.get("https://a.example/low", priority: .low)) }
        try await yield { limiter.snapshot.all.waiting == 1 }
        let high = Task { try await connection.send(.get("https://a.example/high", priority: .high)) }
        try await yield { limiter.snapshot.all.waiting == 2 }
        server.gate.open()
        #expect(try await first.value.status == .ok)

        limiter.resume()
        for _ in 0..<20 { await Task.yield() }
        #expect(limiter.snapshot.all == .init(waiting: 2, running: 0))
        limiter.resume()
        _ = try await (low.value, high.value)
        #expect(Set(server.paths) == ["/first", "/low", "/high"])
        limiter.resume()
        #expect(try await connection.send(.get("https://a.example/")).status == .ok)
    }

    @Test func `A suspended group waits while others pass it, and comes in its order`() async throws {
        server.gate.open()
        let connection = connection(1)
        limiter.suspend("images")
        let images = [start(connection, "/1", "images")]
        try await yield { limiter.snapshot.groups["images"]?.waiting == 1 }
        let second = start(connection, "/2", "images")
        try await yield { limiter.snapshot.groups["images"]?.waiting == 2 }
        _ = try await start(connection, "/page").value
        #expect(server.paths == ["/page"])
        limiter.resume("metrics")
        limiter.resume("images")
        for call in images + [second] { _ = try await call.value }
        #expect(server.paths == ["/page", "/1", "/2"])
    }

    @Test(arguments: [false, true])
    func `A suspended request leaves when it is cancelled, also after the suspension`(isAfter: Bool) async throws {
        let connection = connection(1)
        limiter.suspend("images")
        let image = start(connection, "/1", "images")
        try await yield { limiter.snapshot.all.waiting == 1 }
        let page = start(connection, "/page")
        try await yield { limiter.snapshot.all == .init(waiting: 1, running: 1) }
        if isAfter { limiter.resume("images") }
        image.cancel()
        await #expect(throws: CancellationError.self) { try await image.value }
        #expect(limiter.snapshot.all == .init(waiting: 0, running: 1))
        server.gate.open()
        _ = try await page.value
    }

    @Test(arguments: [nil, "images"] as [RequestGroup?])
    func `All requests, or those of a group, end with the reason, waiting or not`(group: RequestGroup?) async throws {
        let connection = connection(2)
        let calls = [start(connection, "/1", "images"), start(connection, "/2")]
        try await yield { server.paths.count == 2 }
        let waiting = [start(connection, "/3", "images"), start(connection, "/4")]
        try await yield { limiter.snapshot.all == .init(waiting: 2, running: 2) }
        #expect(limiter.snapshot.groups == ["images": .init(waiting: 1, running: 1)])
        #expect(limiter.snapshot.description == "2 waiting, 2 running")

        limiter.cancelAll(reason: "the user has signed out", in: group)

        for (call, wasSent) in zip(
            group == nil ? calls + waiting : [calls[0], waiting[0]], [true, group == nil, false])
        {
            let error = await #expect(throws: LimitError.self) { try await call.value }
            #expect(error?.reason == .cancelled && error?.words == "the user has signed out")
            #expect(error?.mayPass == false && error?.meansNotProcessed == !wasSent)
            #expect(error?.meansServerNotReached == false)
            #expect(error?.description.contains("were cancelled: the user has signed out. Send") == true)
        }
        server.gate.open()
        if group != nil { _ = try await (calls[1].value, waiting[1].value) }
        #expect(try await connection.send(.get("https://a.example/")).status == .ok)
        #expect(await soon { limiter.snapshot.all == .init() })
    }

    @Test func `A body that is being read fails with its next chunk`() async throws {
        let (chunks, source) = AsyncStream.makeStream(of: Data.self)
        let stub = StubConnection { _ in Response(status: .ok, body: Body(chunks: chunks)) }
        let connection = stub.limiting(in: limiter)
        var body = try await connection.send(.get("https://a.example/")).body.makeAsyncIterator()
        source.yield(Data("one".utf8))
        #expect(try await body.next() == Data("one".utf8))
        limiter.cancelAll(reason: "low memory")
        source.yield(Data("two".utf8))
        let error = await #expect(throws: LimitError.self) { try await body.next() }
        #expect(error?.wasSent == true)
        #expect(limiter.snapshot.all == .init())
    }

    @Test func `Stacks with one limiter and equal policies share their limits, and others do not`() async throws {
        let one = connection(1)
        let same = connection(1)
        let other = connection(2)
        let calls = [start(one, "/1")]
        try await yield { server.paths.count == 1 }
        let second = start(same, "/2")
        try await yield { limiter.snapshot.all.waiting == 1 }
        let third = start(other, "/3")
        try await yield { server.paths == ["/1", "/3"] }
        server.gate.open()
        for call in calls + [second, third] { _ = try await call.value }
    }

    @Test func `A refused request is answered by a cache with what it has`() async throws {
        let stub = StubConnection { _ in
            Response(
                status: .ok, fields: [.cacheControl: "max-age=0, stale-if-error=600", .eTag: "\"1\""], body: "kept")
        }
        let clock = VirtualClock()
        let connection = stub.limiting(LimitPolicy(Limits(.fixed(1)), longestWait: .zero), in: limiter, clock: clock)
            .caching(in: MemoryResponseStore(), clock: clock)
        _ = try await connection.send(.get("https://a.example/")).data(upTo: 100)
        clock.advance(by: .seconds(5))
        limiter.suspend()
        let response = try await connection.send(.get("https://a.example/"))
        #expect(try await response.body.text(upTo: 100) == "kept")
        #expect(stub.requests.count == 1)
    }
}
