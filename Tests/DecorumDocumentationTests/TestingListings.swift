import Decorum
import DecorumTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct TestingListings {
    @Test func stubConnection() async throws {
        let stub = StubConnection(
            Response(status: .serviceUnavailable),
            Response(status: .ok, body: "hello"))
        let response = try await stub.retrying().send(.get("https://api.example.com/"))
        #expect(stub.requests.count == 2)
        #expect(response.status == .ok)
    }

    @Test func slowStub() async throws {
        let clock = VirtualClock()
        let stub = StubConnection(clock: clock) { _ in
            try await clock.sleep(for: .seconds(60))
            return Response(status: .ok)
        }
        let connection = stub.limitingTime(TimePolicy(call: .seconds(2)), clock: clock)

        let call = Task { try await connection.send(.get("https://example.com/")) }
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(2))
        await #expect(throws: TransportError.self) { try await call.value }
    }

    @Test func hangingServer() async throws {
        var stack = StandardStack(.app, for: "https://api.example.com/")

        let clock = ImpatientClock()
        let stub = StubConnection(clock: clock) { _ in
            try await clock.sleep(for: .seconds(3600))
            return Response(status: .ok)
        }
        stack.attemptTime = .init(.seconds(2))
        stack.retries?.budget = .perCall(3)
        let connection = try stack.composed(over: stub, clock: clock)

        let error = await #expect(throws: TransportError.self) { try await connection.send(.get("feed")) }
        #expect(error?.code == .deadlineExceeded && stub.requests.count == 4)
    }

    @Test func virtualClock() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable), Response(status: .ok))
        let request = try Request.get("https://api.example.com/")

        let clock = VirtualClock()
        async let response = stub.retrying(clock: clock).send(request)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(try await response.status == .ok)
    }

    @Test func loopbackOrigin() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/feed", .init(fields: ["ETag": #""1""#], body: "news"))
        origin.enqueue(.closing)

        let connection = SystemConnection().retrying()
        let response = try await connection.send(.get(origin.url + "/feed"))

        #expect(try await response.body.text(upTo: 1 << 10) == "news")
        #expect(origin.requests.map(\.target) == ["/feed", "/feed"])
        #expect(origin.connectionCount == 2)
        origin.stop()
    }

    @Test func route() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.post, "/items") { request in
            .init(.created, body: "You sent \(request.bodyLength) bytes.")
        }

        let response = try await SystemConnection().send(.post(origin.url + "/items", body: "one"))
        #expect(try await response.body.text(upTo: 100) == "You sent 3 bytes.")
    }

    @Test func answer() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/hello", "hello")
        origin.route(.get, "/feed", .init(fields: ["ETag": #""1""#], body: "news"))
        origin.enqueue(.init(.serviceUnavailable).after(.pause(.seconds(1))))
        origin.enqueue(.script(.head(.ok, ["Content-Length": "10"]), .raw("half"), .close))
        #expect(origin.queuedAnswerCount == 2)
    }

    func step(gate: Gate) {
        let answer = LoopbackOrigin.Answer.script(
            .head(.ok, ["Transfer-Encoding": "chunked"]), .chunk("first"),
            .wait(gate), .chunk("second"), .lastChunk(trailers: ["Digest": "…"]))
        _ = answer
    }

    @Test func gate() async throws {
        let origin = try LoopbackOrigin()

        let gate = Gate()
        origin.enqueue(.script(.head(.ok, ["Content-Length": "2"]), .raw("h"), .wait(gate), .raw("i")))
        // … the first byte has arrived …
        gate.open()

        let response = try await SystemConnection().send(.get(origin.url + "/"))
        #expect(try await response.body.text(upTo: 2) == "hi")
    }

    @Test func rawFields() {
        let fields: RawFields = ["Set-Cookie": "a=1", "SET-COOKIE": "b=2"]
        #expect(fields.values(of: "set-cookie") == ["a=1", "b=2"])
    }

    @Test func askingWhatWasSent() async throws {
        let stub = StubConnection(Response(status: .ok, body: #"["news"]"#))
        let connection = try stub.resolving(against: "https://api.example.com/v1/")

        let response = try await connection.send(.get("feed"))
        let titles = try await response.decode([String].self, upTo: 1 << 10)

        #expect(titles == ["news"])
        #expect(stub.requests.map(\.url?.absoluteString) == ["https://api.example.com/v1/feed"])
        #expect(stub.requests[0].head.headerFields[.authorization] == nil)
        #expect(try await stub.requests[0].body.text(upTo: 1 << 10) == "")
    }

    @Test func computingAnswers() async throws {
        let stub = StubConnection { request in
            guard request.head.path == "/feed" else { return Response(status: .notFound) }
            throw TransportError(.connectionLost, at: .body)
        }

        #expect(try await stub.send(.get("https://example.com/")).status == .notFound)
        await #expect(throws: TransportError.self) { try await stub.send(.get("https://example.com/feed")) }
    }

    @Test func holdingTimeAndChanceStill() async throws {
        let stub = StubConnection(Response(status: .serviceUnavailable), Response(status: .ok))
        let request = try Request.get("https://api.example.com/")

        let clock = VirtualClock()
        let generator = SeededGenerator(seed: 1)
        async let response = stub.retrying(clock: clock, generator: generator).send(request)
        try await clock.waitForSleepers()
        #expect(clock.pendingSleeps.allSatisfy { $0 <= .milliseconds(500) })
        clock.advance(by: .milliseconds(500))
        #expect(try await response.status == .ok)
    }

    @Test func usingARealSocket() async throws {
        let origin = try LoopbackOrigin()
        let gate = Gate()
        let fields: RawFields = ["Content-Type": "application/json", "Content-Length": "4"]
        origin.enqueue(.script(.head(.ok, fields), .raw("[1"), .wait(gate), .raw("2]")))

        let response = try await SystemConnection().send(.get(origin.url + "/"))
        var chunks = response.body.makeAsyncIterator()
        #expect(try await chunks.next() == Data("[1".utf8))
        gate.open()
        #expect(try await chunks.next() == Data("2]".utf8))
    }

    func bytePatternOfOneGibibyte(origin: LoopbackOrigin, response: Response) async throws {
        origin.route(.get, "/large", .generated(count: 1 << 30))

        var offset: Int64 = 0
        for try await chunk in response.body {
            #expect(BytePattern.matches(chunk, at: offset))
            offset += Int64(chunk.count)
        }
    }

    @Test func trackingWork() async throws {
        let stub = StubConnection { _ in
            Response(status: .ok, fields: [.cacheControl: "max-age=0, stale-while-revalidate=60"])
        }
        let request = try Request.get("https://api.example.com/")

        let spawner = TrackingSpawner()
        let connection = stub.caching(in: MemoryResponseStore(), spawner: spawner)
        _ = try await connection.send(request)
        _ = try await connection.send(request)  // The stored response is stale, and is validated in the background.
        try await spawner.finished()
        #expect(spawner.spawnedCount == 1)
        #expect(stub.requests.count == 2)
    }
}
