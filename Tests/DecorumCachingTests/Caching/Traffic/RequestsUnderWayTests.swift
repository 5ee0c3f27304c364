import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// The effect of requests with unsafe methods on other requests under way (RFC 9111, section 4.4).
@Suite(.timeLimit(.minutes(3))) struct UnsafeRequestsTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()
    let gate = Gate()

    enum Moment: CaseIterable {
        case beforeTheHead, withinTheBody
    }

    private func cache(_ base: some Connection) -> some Connection {
        base.caching(in: store, clock: clock, spawner: spawner)
    }

    /// A server whose pages are fresh for an hour and arrive once the gate is open, and which answers other methods at
    /// once.
    private func origin(
        _ moment: Moment = .withinTheBody, answering change: @escaping @Sendable () throws -> Response
    ) -> StubConnection {
        StubConnection { [gate] request in
            guard request.head.method == .get else { return try change() }
            let fields: HTTPFields = [.cacheControl: "max-age=3600"]
            switch moment {
            case .beforeTheHead:
                try await gate.wait()
                return Response(status: .ok, fields: fields, body: "page")
            case .withinTheBody:
                let body = Body(length: nil, replay: .once) { _ in WaitingReader(gate: gate, rest: Data("page".utf8)) }
                return Response(status: .ok, fields: fields, body: body)
            }
        }
    }

    private func get(_ path: String) throws -> Request { try .get("https://example.com/\(path)") }

    private func read(_ path: String, through connection: some Connection) async throws -> ResponseMetadata.Source? {
        let response = try await connection.send(get(path))
        #expect(try await response.body.text(upTo: 100) == "page")
        return response.metadata.source
    }

    @Test(arguments: [204, 404, 500], Moment.allCases)
    func `Twenty responses under way are stored beside a POST to another URI`(
        status: Int, moment: Moment
    ) async throws {
        let stub = origin(moment) { Response(status: HTTPResponse.Status(code: status)) }
        let connection = cache(stub)
        let callers = await Callers.start(20) { number in try await read("\(number)", through: connection) }
        try await gate.waitForWaiting(20)

        _ = try await connection.send(.post("https://example.com/analytics", body: "event"))
        gate.open()
        for caller in callers { _ = try await caller.value }

        var hitCount = 0
        for number in 0..<20 where try await read("\(number)", through: connection) == .cache { hitCount += 1 }
        #expect(hitCount == 20)
        #expect(stub.requests.count == 21)
    }
}

private struct WaitingReader: BodyReader {
    let gate: Gate
    var rest: Data?
    var trailers: HTTPFields? { nil }

    mutating func next() async throws -> Data? {
        try await gate.wait()
        return rest.take()
    }
}

/// Requests that miss at the same time share a response only where the cache may use it again.
@Suite(.timeLimit(.minutes(3))) struct SharedReuseTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()
    let gate = Gate()

    enum Answer: CaseIterable {
        case unauthorized, serverError, settingCookie, staleOnArrival

        func response(_ number: Int) -> Response {
            let body = Body("\(number)")
            return switch self {
            case .unauthorized: Response(status: .unauthorized, body: body)
            case .serverError: Response(status: .internalServerError, body: body)
            case .settingCookie: Response(status: .ok, fields: [.setCookie: "sid=\(number)"], body: body)
            case .staleOnArrival:
                Response(status: .ok, fields: [.cacheControl: "max-age=10", .age: "100"], body: body)
            }
        }
    }

    /// A server that gives each request another body, once the gate lets it.
    private func origin(_ answer: @escaping @Sendable (Int) -> Response) -> StubConnection {
        let count = Atomic(0)
        return StubConnection { [gate] _ in
            let number = count.add(1, ordering: .relaxed).newValue
            try await gate.wait()
            return answer(number)
        }
    }

    private func texts(_ count: Int, through connection: some Connection) async -> [Task<String, any Error>] {
        await Callers.start(count) { _ in
            try await connection.send(.get("https://example.com/page")).body.text(upTo: 100)
        }
    }

    @Test(arguments: Answer.allCases)
    func `A response that is not for reuse is for the caller who asked, and the others are sent together`(
        answer: Answer
    ) async throws {
        defer { gate.open() }
        let connection = origin(answer.response).caching(in: store, clock: clock, spawner: spawner)
        let callers = await texts(5, through: connection)
        #expect(await soon { gate.waitingCount == 1 })
        gate.admit()
        #expect(await soon { gate.waitingCount == 4 })
        gate.open()

        var texts: Set<String> = []
        for caller in callers { texts.insert(try await caller.value) }
        #expect(texts.count == 5)
    }

    @Test func `Each reload is a request of its own`() async throws {
        defer { gate.open() }
        let connection = origin { number in
            Response(
                status: .ok, fields: [.cacheControl: "max-age=60", .eTag: "\"\(number)\""], body: Body("\(number)"))
        }
        .caching(in: store, clock: clock, spawner: spawner)
        let callers = await Callers.start(2) { _ in
            var request = try Request.get("https://example.com/page")
            request.options.cacheUse = .reload
            return try await connection.send(request).body.text(upTo: 100)
        }
        #expect(await soon { gate.waitingCount == 2 })
        gate.open()
        var texts: Set<String> = []
        for caller in callers { texts.insert(try await caller.value) }
        #expect(texts == ["1", "2"])
    }
}

/// The time that a caller waits where other callers, or the cache itself, have requested the same.
@Suite(.timeLimit(.minutes(3))) struct SharedTimeoutTests {
    let store = MemoryResponseStore()
    let clock = VirtualClock()
    let spawner = TrackingSpawner()

    private func cache(_ base: some Connection) -> some Connection {
        var policy = CachingPolicy.standard
        policy.staleIfUnreachable = .zero
        return base.caching(in: store, policy: policy, clock: clock, spawner: spawner)
    }

    private func get(idleTimeout: Duration? = nil) throws -> Request {
        var request = try Request.get("https://example.com/page")
        request.options.idleTimeout = idleTimeout
        return request
    }

    /// A server that does not answer, over a transport that keeps the idle timeout of each request.
    private var silence: StubConnection.Answer {
        { [clock] request in
            try await clock.sleep(for: request.options.idleTimeout ?? .seconds(60))
            throw TransportError(.timedOut, at: .head)
        }
    }

    @Test(arguments: [Duration.seconds(2), nil])
    func `A request does not wait for a validation in the background`(idleTimeout: Duration?) async throws {
        let old = Response(
            status: .ok, fields: [.cacheControl: "max-age=1, stale-while-revalidate=60", .eTag: #""1""#], body: "old")
        let stub = StubConnection(answers: [{ _ in old }], then: silence)
        let connection = cache(stub)
        // Ends all sleeps, also where the test fails.
        defer { clock.advance(by: .seconds(1000)) }
        _ = try await connection.send(get())
        clock.advance(by: .seconds(10))
        #expect(try await connection.send(get()).body == "old")
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(52))

        let callers = await Callers.start { _ in try await connection.send(get(idleTimeout: idleTimeout)).status }
        try #require(await soon { stub.requests.count == 3 })
        try await clock.waitForSleepers(2)
        clock.advance(by: idleTimeout ?? .seconds(60))
        await #expect(throws: TransportError.self) { try await callers[0].value }
    }
}
