import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The origin, the retries and the source of calls, through the layers of the documentation.
@Suite(.timeLimit(.minutes(3))) struct ObservedCallTests {
    let events = ObservingTests.Events()
    let clock = VirtualClock()

    private func observed(_ stub: StubConnection) throws -> some Connection {
        try stub.retrying(RetryPolicy(retries: 2, baseDelay: .zero, budget: .unlimited), clock: clock)
            .caching(in: MemoryResponseStore(), clock: clock)
            .followingRedirects(clock: clock)
            .resolving(against: "https://api.example/v1/")
            .observing(events, clock: clock)
    }

    @Test func `A relative request that fails has its origin too`() async throws {
        let connection = try observed(StubConnection { _ in throw TransportError(.tls, at: .connecting) })
        await #expect(throws: TransportError.self) { try await connection.send(.get("feed")) }
        #expect(events.all.map(\.origin?.description) == ["https://api.example"])
    }

    @Test func `After a redirection, the origin is the one that was asked`() async throws {
        let stub = StubConnection { request in
            request.head.authority == "other.example"
                ? Response(status: .ok)
                : Response(status: .found, fields: [.location: "https://other.example/"])
        }
        _ = try await observed(stub).send(.get("feed"))
        _ = try await stub.followingRedirects().observing(events).send(.get("https://api.example/"))
        #expect(events.all.map(\.origin?.host) == ["api.example", "api.example"])
    }

    @Test func `A request that a layer of the app resolved has the origin of its answer`() async throws {
        let stub = StubConnection { request in
            Response(head: HTTPResponse(status: .ok), metadata: ResponseMetadata(answering: request, from: .network))
        }
        let connection = stub.followingRedirects()
            .intercepting { request, base in
                var request = request
                request.head.scheme = "https"
                request.head.authority = "own.example"
                return try await base.send(request)
            }
            .observing(events)
        _ = try await connection.send(.get("/feed"))
        #expect(events.all.map(\.origin?.host) == ["own.example"])
    }

    @Test func `Retries are counted, also of a call that fails, and redirections are not retries`() async throws {
        let stub = StubConnection { request in
            switch request.head.path {
            case "/v1/down": Response(status: .serviceUnavailable)
            case "/v1/moved": Response(status: .found, fields: [.location: "/v1/down"])
            case "/v1/lost": throw TransportError(.connectionRefused, at: .connecting)
            default: Response(status: .ok)
            }
        }
        let connection = try observed(stub)
        for path in ["fine", "down", "moved", "lost"] { _ = try? await connection.send(.get(path)) }

        #expect(events.all.map(\.retries) == [0, 2, 2, 2])
        #expect(events.all.map(\.attempts) == [1, 3, 4, 3])
    }

    @Test func `A retry that was cancelled while it waited is not counted`() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable, fields: [.retryAfter: "7"]))
        let connection = stub.retrying(clock: clock).observing(events, clock: clock)
        let call = Task { try await connection.send(.get("https://a.example/")) }
        try await clock.waitForSleepers()
        call.cancel()
        await #expect(throws: CancellationError.self) { _ = try await call.value }
        #expect(events.all.map(\.retries) == [0])
        #expect(events.all.map(\.outcome) == [.cancelled])
    }

    @Test func `A response that a layer further in refused still counts with its source`() async throws {
        let stub = StubConnection(Response(status: .notFound, fields: [.cacheControl: "max-age=60"]))
        let connection = stub.caching(in: MemoryResponseStore(), clock: clock).validatingStatus().observing(events)
        for _ in 1...2 {
            await #expect(throws: StatusError.self) { try await connection.send(.get("https://a.example/")) }
        }
        #expect(events.all.map(\.source) == [.stub, .cache])
        #expect(events.all.map(\.attempts) == [1, 0])
    }
}
