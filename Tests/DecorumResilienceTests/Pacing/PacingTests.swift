import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct PacingTests {
    private let clock = VirtualClock()
    private let generator = SeededGenerator(seed: 1)

    @Test func `A 503 with Retry-After holds all requests to the origin back, and no others`() async throws {
        let stub = StubConnection(answers: [{ _ in .busy("10") }], then: { _ in Response(status: .ok) })
        let connection = stub.pacing(clock: clock, generator: generator)
        _ = try await connection.send(.get("https://a.example/"))

        async let held = connection.send(.get("https://a.example/other", principal: "user"))
        try await clock.waitForSleepers()
        _ = try await connection.send(.get("https://b.example/"))
        #expect(stub.requests.map(\.head.authority) == ["a.example", "b.example"])
        let wait = try #require(clock.pendingSleeps.first)
        #expect(wait >= .seconds(10) && wait <= .seconds(15))
        clock.advance(by: wait)

        #expect(try await held.status == .ok)
    }

    @Test func `A 429 holds the requests of one user and route back`() async throws {
        let stub = StubConnection(
            answers: [{ _ in Response(status: .tooManyRequests, fields: [.retryAfter: "10"]) }],
            then: { _ in Response(status: .ok) })
        let connection = stub.pacing(clock: clock)
        _ = try await connection.send(.get("https://a.example/", principal: "one", route: "search"))

        for (principal, route) in [("one", "feed"), ("one", nil), ("two", "search"), (nil, "search")] {
            _ = try await connection.send(.get("https://a.example/", principal: principal, route: route))
        }
        #expect(stub.requests.count == 5)
        await #expect(throws: PacingError.self) {
            try await connection.send(
                .get("https://a.example/", principal: "one", route: "search", deadline: clock.now + .seconds(1)))
        }
    }

    @Test(
        arguments: [
            (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"], true),
            (200, ["RateLimit": #""default";r=0;t=30"#], true), (200, ["RateLimit": #""default";r=1;t=30"#], false),
            (403, ["Retry-After": "30"], true), (403, [:], false), (503, [:], false), (429, [:], false),
            (200, ["Retry-After": "30"], false), (301, ["Retry-After": "30"], false),
            // The clock of this client is an hour ahead.
            (503, ["Date": "Tue, 14 Nov 2023 21:13:20 GMT", "Retry-After": "Tue, 14 Nov 2023 21:13:30 GMT"], true),
        ] as [(Int, [String: String], Bool)])
    func `A pause begins where the server says that it accepts nothing`(
        status: Int, fields: [String: String], isHeld: Bool
    ) async throws {
        let answer = Response(status: .init(code: status), fields: try HTTPFields(fields))
        let stub = StubConnection(answers: [{ _ in answer }], then: { _ in Response(status: .ok) })
        let connection = stub.pacing(PacingPolicy(longestWait: .zero), clock: clock)
        _ = try await connection.send(.page)

        if isHeld {
            await #expect(throws: PacingError.self) { try await connection.send(.page) }
        } else {
            _ = try await connection.send(.page)
        }
        #expect(stub.requests.count == (isHeld ? 1 : 2))
    }

    @Test func `A request that cannot wait fails at once with an error that names the instant`() async throws {
        let stub = StubConnection(.busy("40"))
        let connection = stub.pacing(clock: clock, generator: generator)
        let call = CallContext(keepingHistory: 10)
        var request = try Request.get("https://a.example/", deadline: clock.now + .seconds(30))
        _ = try await connection.send(request)
        request.options.callContext = call

        let error = await #expect(throws: PacingError.self) { try await connection.send(request) }

        let wait = try #require(error?.wait)
        #expect(wait >= .seconds(40) && wait <= .seconds(60))
        #expect(error?.instant == clock.now + wait)
        #expect(abs((error?.date.timeIntervalSince(clock.date) ?? 0) - wait / .seconds(1)) < 0.001)
        #expect(error?.meansServerNotReached == true)
        #expect(error?.description.contains("a.example:443 was not sent") == true)
        #expect(call.history.map(\.kind) == [.givesUp])
        #expect(clock.pendingSleeps.isEmpty)
        #expect(stub.requests.count == 1)
    }

    @Test func `A server may limit a user over all routes`() async throws {
        let stub = StubConnection(
            Response(
                status: .forbidden, fields: try HTTPFields(["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "40"])),
            Response(status: .ok))
        let policy = PacingPolicy(longestWait: .zero, separatesRoutes: false)
        let connection = stub.pacing(policy, clock: clock, generator: generator)
        _ = try await connection.send(.get("https://a.example/", principal: "one", route: "search"))

        let other = try Request.get("https://a.example/", principal: "one", route: "feed")
        let error = await #expect(throws: PacingError.self) { try await connection.send(other) }
        #expect(error?.cause?.isRateLimit == true && error?.routeName == "feed")
        #expect(stub.requests.count == 1)
    }

    @Test func `One user does not see the path of another user's request`() async throws {
        let stub = StubConnection(.busy("40"))
        let connection = stub.pacing(PacingPolicy(longestWait: .zero), clock: clock, generator: generator)
        var request = try Request.get("https://a.example/users/alice")
        request.options.principal = Principal("alice")
        _ = try await connection.send(request)

        let error = try await #require(throws: PacingError.self) {
            try await connection.send(.get("https://a.example/"))
        }

        #expect(error.cause?.status == 503)
        #expect(!"\(error)".contains("alice"))
    }

    @Test func `A request that gets no turn after the pause in its time fails`() async throws {
        let gate = Gate()
        let stub = StubConnection(
            answers: [{ _ in .busy("10") }],
            then: { _ in
                try await gate.wait()
                throw TransportError(.connectionLost, at: .head)
            })
        let connection = stub.pacing(clock: clock, generator: generator)
        _ = try await connection.send(.page)
        clock.advance(by: .seconds(20))
        let first = Task { try await connection.send(.page) }
        try await gate.waitForWaiting(1)
        let call = CallContext(keepingHistory: 10)
        let request = try Request.get("https://a.example/", deadline: clock.now + .seconds(5))
        let late = Task {
            var request = request
            request.options.callContext = call
            return try await connection.send(request)
        }
        let cancelled = Task { try await connection.send(.get("https://a.example/")) }
        let next = Task { try await connection.send(.get("https://a.example/")) }
        try await yield { call.history.count == 1 }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        clock.advance(by: .seconds(5))

        let error = try await #require(throws: PacingError.self) { try await late.value }
        #expect(error.wait == .zero && error.instant == clock.now && error.cause?.asked == .seconds(10))
        #expect(call.history.last?.kind == .givesUp)
        // The place of the failed request goes to the one that still waits.
        gate.open()
        for task in [first, next] { await #expect(throws: TransportError.self) { try await task.value } }
        #expect(stub.requests.count == 3)
    }

    @Test func `Cancelling ends the wait, and nothing is sent`() async throws {
        let stub = StubConnection(.busy("10"))
        let connection = stub.pacing(clock: clock)
        _ = try await connection.send(.page)
        let task = Task { try await connection.send(.page) }
        try await clock.waitForSleepers()
        task.cancel()

        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stub.requests.count == 1)
    }

    @Test func `A retry waits for the pause once, and stacks share pauses`() async throws {
        let pauses = ServerPauses()
        let stub = StubConnection(.busy("3"), Response(status: .ok))
        let paced = stub.pacing(in: pauses, clock: ImpatientClock()).retrying(clock: ImpatientClock())

        #expect(try await paced.send(.page).status == .ok)

        let other = StubConnection(.busy("100"), Response(status: .ok))
        let policy = PacingPolicy(longestWait: .seconds(9))
        _ = try await other.pacing(policy, in: pauses, clock: clock).send(.get("https://b.example/"))
        await #expect(throws: PacingError.self) {
            try await StubConnection().pacing(policy, in: pauses, clock: clock).send(.get("https://b.example/"))
        }
    }

    @Test func `A pause takes an hour at most, and the memory is bounded`() async throws {
        let pauses = ServerPauses()
        let stub = StubConnection { _ in .busy("99999999") }
        let connection = stub.pacing(in: pauses, clock: clock)
        for number in 0..<1100 { _ = try await connection.send(.get("https://a\(number).example/")) }
        #expect("\(pauses)" == "pauses: 1024")

        let error = await #expect(throws: PacingError.self) {
            try await connection.send(.get("https://a1099.example/"))
        }
        #expect(try #require(error?.wait) <= .seconds(3620))
    }
}

extension Response {
    fileprivate static func busy(_ retryAfter: String) -> Response {
        Response(status: .serviceUnavailable, fields: [.retryAfter: retryAfter])
    }
}

extension Request {
    fileprivate static func get(
        _ url: String, principal: String? = nil, route: String? = nil, deadline: ContinuousClock.Instant? = nil
    ) throws -> Request {
        var request = try Request(.get, url)
        request.options.principal = principal.map { Principal($0) }
        request.options.routeName = route
        request.options.deadline = deadline
        return request
    }
}
