import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The use of stale responses, and validations in the background.
@Suite(.timeLimit(.minutes(3))) struct StaleResponseTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()
    let gate = Gate()

    struct Unreachable: ReachabilityError {
        var meansServerNotReached: Bool { true }
    }

    private func cache(_ base: some Connection, policy: CachingPolicy = .standard) -> some Connection {
        base.caching(in: store, policy: policy, clock: clock, spawner: spawner)
    }

    /// A cache that waits a limited time for a slow server, and whose first response, fresh for a second, is stale.
    private func staleCache(_ base: some Connection, staleIfSlow limit: Duration) async throws -> some Connection {
        var policy = CachingPolicy.standard
        policy.staleIfSlow = limit
        let connection = cache(base, policy: policy)
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))
        return connection
    }

    private func page(_ control: String, _ text: String = "old") -> Response {
        Response(status: .ok, fields: [.cacheControl: control, .eTag: "\"\(text)\""], body: Body(text))
    }

    private func get() throws -> Request { try .get("https://example.com/page") }

    @Test func `One validation of a variant runs in the background, however the requests differ`() async throws {
        let old = page("max-age=1, stale-while-revalidate=60")
        let stub = StubConnection(answers: [{ _ in old }]) { [gate] _ in
            try await gate.wait()
            return Response(status: .notModified, fields: [.cacheControl: "max-age=100", .eTag: #""old""#])
        }
        let connection = cache(stub)
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))

        for number in 0..<50 {
            let request = try Request.get(
                "https://example.com/page",
                fields: [.ifNoneMatch: "\"\(number)\"", .acceptLanguage: "x-\(number)", .range: "bytes=0-1"])
            let metadata = try await connection.send(request).metadata
            #expect(metadata.source == .cache && metadata.isStale)
            #expect(metadata.cacheStatus?.timeToLive == .seconds(-9))
        }
        gate.open()
        try await spawner.finished()

        #expect(stub.requests.count == 2)
        #expect(stub.requests.last?.head.headerFields == [.acceptLanguage: "x-0", .ifNoneMatch: #""old""#])
        #expect(try await connection.send(get()).metadata.cacheStatus?.timeToLive == .seconds(100))
    }

    @Test func `A validation in the background outlives the caller, and stores a streamed body`() async throws {
        let old = page("max-age=1, stale-while-revalidate=60")
        let stub = StubConnection(answers: [{ _ in old }]) { [gate] _ in
            try await gate.wait()
            return Response(
                status: .ok, fields: [.cacheControl: "max-age=100"], body: GatedTransfer.open.body(chunks: 3))
        }
        let connection = cache(stub)
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))

        let request = try get()
        let caller = Task { try await connection.send(request) }
        _ = try await caller.value
        caller.cancel()
        gate.open()
        try await spawner.finished()

        #expect(try await connection.send(get()).body.data(upTo: 3000) == BytePattern.bytes(3000))
        #expect(stub.requests.count == 2)
    }

    @Test(arguments: [
        ("max-age=1, stale-if-error=60", true, true), ("max-age=1", false, true),
        ("max-age=1, must-revalidate, stale-if-error=60", false, false),
        ("no-cache, stale-if-error=60", false, false),
    ])
    func `A stale response replaces an error if that is allowed`(
        control: String, isUsedFor503: Bool, isUsedWhereUnreachable: Bool
    ) async throws {
        let old = page(control)
        let stub = StubConnection(
            answers: [{ _ in old }, { _ in Response(status: .serviceUnavailable) }, { _ in throw Unreachable() }])
        let connection = cache(stub)
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))

        let first = try await connection.send(get())
        #expect(first.status == (isUsedFor503 ? .ok : .serviceUnavailable))
        #expect((first.metadata.source == .cache) == isUsedFor503)
        guard isUsedWhereUnreachable else {
            await #expect(throws: Unreachable.self) { try await connection.send(get()) }
            return
        }
        let second = try await connection.send(get())
        #expect(second.body == "old")
        #expect(second.metadata.cacheStatus?.detail == "stale: the server cannot be reached (RFC 9111, 4.2.4)")
        #expect([first, second].map(\.metadata.isStale) == [isUsedFor503, true])
    }

    @Test(
        arguments: [
            (nil, 0, false), (20, 0, true), (9, 0, true), (8, 0, false), (nil, 60, true), (0, 60, false),
        ] as [(Int?, Int, Bool)])
    func `A request decides for how long a stale response is used while the server cannot be reached`(
        asked: Int?, usual: Int, isUsed: Bool
    ) async throws {
        let old = page("max-age=1")
        var policy = CachingPolicy.standard
        policy.staleIfUnreachable = .seconds(usual)
        let stub = StubConnection(
            answers: [{ _ in old }, { _ in Response(status: .serviceUnavailable) }], then: { _ in throw Unreachable() })
        let connection = cache(stub, policy: policy)
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))
        var request = try get()
        request.options.staleIfUnreachable = asked.map { .seconds($0) }
        // A 503 is an answer.
        #expect(try await connection.send(request).status == .serviceUnavailable)
        let answer = try? await connection.send(request)
        #expect(answer?.body == (isUsed ? "old" : nil))
    }

    @Test(arguments: [0, 5])
    func `A response that is used at the end of its lifetime, or later, is stale and says so`(seconds: Int) async throws
    {
        let old = page("max-age=1")
        let connection = cache(StubConnection(old))
        _ = try await connection.send(get())
        clock.advance(by: .milliseconds(600))
        var request = try get()
        request.options.cacheUse = .onlyStored
        let fresh = try await connection.send(request)
        #expect(fresh.metadata.cacheStatus?.timeToLive == .zero)
        #expect(!fresh.metadata.isStale && fresh.metadata.cacheStatus?.detail == nil)

        clock.advance(by: .milliseconds(400) + .seconds(seconds))
        let context = CallContext(keepingHistory: 10)
        request.options.callContext = context
        let stale = try await connection.send(request)
        #expect(stale.metadata.isStale)
        #expect(stale.metadata.cacheStatus?.detail == "stale, as the request accepts (RFC 9111, 4.2.4)")
        #expect("\(context.history)".contains("stale for \(seconds) s"))
    }

    @Test func `A slow server is not awaited, and its response is stored later`() async throws {
        let old = page("max-age=1")
        let stub = StubConnection(answers: [{ _ in old }]) { [gate] _ in
            try await gate.wait()
            return Response(
                status: .ok, fields: [.cacheControl: "max-age=100"], body: GatedTransfer.open.body(chunks: 3))
        }
        let connection = try await staleCache(stub, staleIfSlow: .seconds(2))

        let request = try get()
        let caller = Task { try await connection.send(request) }
        try await clock.waitForSleepers()
        try await gate.waitForWaiting(1)
        clock.advance(by: .seconds(2))
        let response = try await caller.value
        #expect(response.body == "old")
        #expect(response.metadata.cacheStatus?.detail == "stale: the server is slow (RFC 9111, 4.2.4)")
        gate.open()
        try await spawner.finished()

        #expect(try await connection.send(get()).body.data(upTo: 3000) == BytePattern.bytes(3000))
        #expect(stub.requests.count == 2)
    }

    @Test func `A caller cancelled while it awaits a slow server cancels the request`() async throws {
        let old = page("max-age=1")
        let stub = StubConnection(answers: [{ _ in old }]) { [gate] _ in
            try await gate.wait()
            return Response(status: .ok)
        }
        let connection = try await staleCache(stub, staleIfSlow: .seconds(2))

        let request = try get()
        let caller = Task { try await connection.send(request) }
        try await gate.waitForWaiting(1)
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        try await spawner.finished()
        #expect(gate.waitingCount == 0)
    }

    @Test func `A call is sent four times at most, as the layer declares`() async throws {
        let count = Mutex(0)
        let base = StubConnection { [gate] request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 1 {
                return Response(
                    status: .ok, fields: [.cacheControl: "max-age=1", .eTag: #""1""#, .vary: "Accept"], body: "old")
            }
            if number == 2 { try await gate.wait() }
            // The answer confirms another response, so that the cache asks without conditions.
            let isConditional = request.head.headerFields.contains(.ifNoneMatch)
            return Response(status: isConditional ? .notModified : .ok, fields: [.eTag: #""2""#], body: .empty)
        }
        let connection = try await staleCache(base, staleIfSlow: .seconds(2))
        let request = try get()
        let caller = Task { try await connection.send(request) }
        try await clock.waitForSleepers()
        try await gate.waitForWaiting(1)
        store.removeResponses(for: try #require(ResponseKey(request)))
        clock.advance(by: .seconds(2))
        #expect(try await caller.value.status == .ok)
        gate.open()
        try await spawner.finished()

        #expect(count.withLock { $0 } == 5)
        #expect(connection.layers.first?.sending.times == 0...4)
        #expect(base.caching(in: store).layers.first?.sending.times == 0...2)
    }
}
