import Decorum
import DecorumTestSupport
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

/// Sources that are slow, fail, are cancelled, or are asked by many callers at once.
@Suite(.timeLimit(.minutes(3))) struct CredentialSourceCompanyTests {
    private let api: Origin
    private let clock = VirtualClock()
    private let stub = StubConnection { _ in Response(status: .ok) }

    init() throws {
        api = try Origin("https://api.example.com")
    }

    private func request(within time: Duration? = nil) throws -> Request {
        var request = try Request.get("https://api.example.com/")
        request.options.deadline = time.map { clock.now + $0 }
        return request
    }

    @Test func `A slow source ends at the deadline of the call, is cancelled, and nothing is sent`() async throws {
        let gate = Gate()
        let cancellations = Kept<Bool>()
        let source = ClosureSource { _ in
            do {
                try await gate.wait()
            } catch {
                cancellations.keep(true)
                throw error
            }
            return try .bearer("late")
        }
        let connection = stub.authenticating(from: source, for: api, clock: clock).limitingTime(
            .init(call: .seconds(5)), clock: clock)
        let call = Task { try await connection.send(request()) }
        try await gate.waitForWaiting(1)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(5))

        let error = try await #require(throws: CredentialSourceError.self) { try await call.value }
        #expect(
            error.description
                == "GET https://api.example.com/ was not sent, because the source of its credentials gave none "
                + "before the deadline. Give the source a shorter limit, or the call more time.")
        #expect(error.mayPass && error.meansNotProcessed && error.meansServerNotReached && error.underlying == nil)
        try await yield { gate.waitingCount == 0 && !cancellations.all.isEmpty }
        #expect(stub.requests.isEmpty)
    }

    @Test(arguments: [.seconds(60), nil] as [Duration?])
    func `A source that ignores its cancellation does not hold the caller`(time: Duration?) async throws {
        let gate = Gate()
        let source = ClosureSource { _ in
            await Task.detached { try? await gate.wait() }.value
            return try .bearer("late")
        }
        let connection = stub.authenticating(from: source, for: api, clock: clock)
        let call = Task { try await connection.send(request(within: time)) }
        try await gate.waitForWaiting(1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        gate.open()
        #expect(stub.requests.isEmpty)
    }

    @Test func `A source is not asked after the deadline`() async throws {
        let source = ClosureSource { _ in throw ExpiredSession() }
        let connection = stub.authenticating(from: source, for: api, clock: clock)
        let error = try await #require(throws: CredentialSourceError.self) {
            try await connection.send(request(within: .zero))
        }
        #expect(error.underlying == nil)
    }

    @Test func `A failure of the source is named, without its secret, and nothing is sent`() async throws {
        let source = ClosureSource { _ in throw ExpiredSession() }
        let connection = stub.authenticating(from: source, for: api)
        let error = try await #require(throws: CredentialSourceError.self) { try await connection.send(request()) }
        #expect(
            error.description
                == "GET https://api.example.com/ was not sent, because the source of its credentials failed: "
                + "ExpiredSession")
        #expect(!"\(error) \(String(reflecting: error))".contains("hunter2"))
        #expect(error.underlying is ExpiredSession)
        #expect(!error.mayPass && error.meansNotProcessed && !error.meansServerNotReached)
        #expect(stub.requests.isEmpty)
    }

    @Test func `A failure that may pass is tried again, with any method`() async throws {
        let failures = Mutex(1)
        let source = ClosureSource { _ in
            let fails = failures.withLock { failures in
                failures -= 1
                return failures >= 0
            }
            if fails { throw TransportError(.connectionLost, at: .head) }
            return try .bearer("abc")
        }
        let connection = stub.authenticating(from: source, for: api, clock: clock).retrying(clock: clock)
        let call = Task { try await connection.send(.post("https://api.example.com/", body: "order")) }
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        #expect(try await call.value.status == .ok)
        #expect(stub.requests.map(\.head.method) == [.post])
    }

    @Test func `A server of tokens that cannot be reached counts as not reached`() async throws {
        let source = ClosureSource { _ in throw TransportError(.hostNotFound, at: .connecting) }
        let connection = stub.authenticating(from: source, for: api)
        let error = try await #require(throws: CredentialSourceError.self) { try await connection.send(request()) }
        #expect(error.meansServerNotReached && error.mayPass)
    }

    @Test func `A cancellation of the source's own work is no cancellation of the caller`() async throws {
        let source = ClosureSource { _ in throw CancellationError() }
        for time in [nil, Duration.seconds(5)] {
            let connection = stub.authenticating(from: source, for: api, clock: clock)
            let error = try await #require(throws: CredentialSourceError.self) {
                try await connection.send(request(within: time))
            }
            #expect(error.mayPass)
        }
    }

    @Test(arguments: [nil, Duration.seconds(60)])
    func `A cancelled caller gets a cancellation, whatever its source throws`(time: Duration?) async throws {
        let gate = Gate()
        let source = ClosureSource { _ in
            do { try await gate.wait() } catch { throw ExpiredSession() }
            return nil
        }
        let connection = stub.authenticating(from: source, for: api, clock: clock)
        let call = Task { try await connection.send(request(within: time)) }
        try await gate.waitForWaiting(1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(stub.requests.isEmpty)
    }

    @Test func `Of 25 callers at once, each gets its own user's credentials, and a cancelled one takes none along`()
        async throws
    {
        let gate = Gate()
        let source = ClosureSource { attempt in
            try await gate.wait()
            return try .bearer(attempt.request.head.path.map { String($0.dropFirst()) } ?? "")
        }
        let stub = StubConnection { Response(status: .ok, body: Body($0.head.headerFields[.authorization] ?? "")) }
        let connection = stub.authenticating(from: source, for: api, clock: clock)
        let calls = (0..<25).map { number in
            Task {
                var request = try Request.get("https://api.example.com/user-\(number)")
                if number % 2 == 0 { request.options.deadline = clock.now + .seconds(60) }
                return try await connection.send(request).body.text(upTo: 100)
            }
        }
        try await gate.waitForWaiting(25)
        for number in stride(from: 0, to: 25, by: 5) { calls[number].cancel() }
        gate.open()
        for (number, call) in calls.enumerated() {
            switch await call.result {
            case .success(let text): #expect(text == "Bearer user-\(number)")
            case .failure(let error): #expect(error is CancellationError && number % 5 == 0)
            }
        }
        #expect(stub.requests.count == 20)
    }

    @Test func `A cache keeps no response of a source without a principal, and separates principals`() async throws {
        let source = ClosureSource { attempt in
            try .bearer(attempt.request.options.principal == Principal("ann") ? "ann" : "bob")
        }
        let stub = StubConnection { request in
            Response(
                status: .ok, fields: [.cacheControl: "max-age=60"],
                body: Body(request.head.headerFields[.authorization] ?? "none"))
        }
        let connection = stub.authenticating(from: source, for: api).caching(in: MemoryResponseStore())
        for _ in 1...2 { #expect(try await connection.send(request()).body.text(upTo: 20) == "Bearer bob") }
        #expect(stub.requests.count == 2)
        for user in ["ann", "bob", "ann", "bob"] {
            var request = try request()
            request.options.principal = Principal(user)
            #expect(try await connection.send(request).body.text(upTo: 20) == "Bearer \(user)")
        }
        #expect(stub.requests.count == 4)
    }
}

private struct ExpiredSession: Error, CustomStringConvertible {
    var description: String { "the token hunter2 has expired" }
}
