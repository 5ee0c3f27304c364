import Decorum
import DecorumTesting
import HTTPTypes
import Synchronization
import Testing

/// The presets under traffic.
@Suite(.timeLimit(.minutes(3))) struct StandardStackTrafficTests {
    private struct Item: Decodable, Equatable {
        let name: String
    }

    @Test(arguments: StandardStack.Preset.allCases)
    func `A preset follows, retries, signs in and decodes`(preset: StandardStack.Preset) async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/v1/item", LoopbackOrigin.Answer(.found, fields: ["Location": "/v1/moved"]))
        origin.route(
            .get, "/v1/moved",
            LoopbackOrigin.Answer(fields: ["Content-Type": "application/json"], body: #"{"name": "one"}"#))
        var stack = StandardStack(preset, for: origin.url + "/v1/")
        stack.retries?.baseDelay = .milliseconds(1)
        stack.retries?.maximumDelay = .milliseconds(1)
        // The times of a preset are real, and a machine under load may need longer.
        stack.time = .init(call: .seconds(120), attempt: .seconds(60), idle: nil)
        let connection = try stack.composed(authentication: .with(.bearer("t0ken")))

        origin.enqueue(LoopbackOrigin.Answer(.serviceUnavailable))
        let item = try await connection.send(.get("item")).decode(Item.self, upTo: 1000)

        #expect(item == Item(name: "one"))
        #expect(origin.requests.map(\.target) == ["/v1/item", "/v1/item", "/v1/moved"])
        for request in origin.requests {
            #expect(request.fields[.authorization] == "Bearer t0ken")
            #expect(request.fields[.acceptEncoding]?.contains("gzip") == true)
        }
        let error = try await #require(throws: StatusError.self) { _ = try await connection.send(.get("missing")) }
        #expect(error.status == .notFound)
    }

    @Test func `The preset of an app asks the server once for a response that is fresh`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/feed", LoopbackOrigin.Answer(fields: ["Cache-Control": "max-age=60"], body: "news"))
        var stack = StandardStack(.app, for: origin.url)
        stack.time = .init(call: .seconds(120), attempt: .seconds(60), idle: nil)
        let connection = try stack.composed(principal: Principal("user-42"))
        for _ in 0..<3 {
            #expect(try await connection.send(.get("feed")).body.text(upTo: 100) == "news")
        }
        #expect(origin.requests.count == 1)
    }

    @Test func `After a pause a server that is well gets 500 requests in eight round trips`() async throws {
        let (clock, gate) = (ImpatientClock(), Gate())
        let stub = StubConnection(
            answers: [{ _ in .pausing }, { _ in Response(status: .ok) }],
            then: { _ in
                try await gate.wait()
                return Response(status: .ok)
            })
        let connection = try StandardStack(.server, for: StandardStackTests.url).composed(over: stub, clock: clock)
        #expect(try await connection.send(.get("status")).metadata.attempts == 2)

        let counts = try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<500 { group.addTask { _ = try await connection.send(.get("items/\(number)")) } }
            var counts: [Int] = []
            while counts.reduce(0, +) < 500 {
                let sent = counts.reduce(0, +)
                let next = min(2 << counts.count, 500 - sent)
                try await gate.waitForWaiting(next)
                #expect(stub.requests.count == 2 + sent + next)
                counts.append(next)
                gate.admit(next)
            }
            try await group.waitForAll()
            return counts
        }
        #expect(counts == [2, 4, 8, 16, 32, 64, 128, 246])
    }

    @Test func `A server that stays sick after its pause gets one request at a time`() async throws {
        let clock = ImpatientClock()
        let underway = Mutex((now: 0, most: 0))
        let stub = StubConnection(
            answers: [{ _ in .pausing }],
            then: { _ in
                underway.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                for _ in 0..<20 { await Task.yield() }
                underway.withLock { $0.now -= 1 }
                return Response(status: .internalServerError)
            })
        var stack = StandardStack(.server, for: StandardStackTests.url)
        stack.time = .init(call: .seconds(3600), attempt: .seconds(1800), idle: nil)
        let connection = try stack.composed(over: stub, clock: clock)
        await #expect(throws: StatusError.self) { try await connection.send(.get("status")) }

        await withTaskGroup(of: Void.self) { group in
            for number in 0..<100 { group.addTask { _ = try? await connection.send(.get("items/\(number)")) } }
        }
        #expect(underway.withLock { $0.most } == 1)
        #expect(stub.requests.count == 2 + 100)
    }

    @Test func `A call ends at its deadline`() async throws {
        let origin = try LoopbackOrigin()
        origin.enqueue(.script(.hang))
        var stack = StandardStack(.tool, for: origin.url)
        stack.time = .init(call: .milliseconds(300), attempt: .milliseconds(200), idle: nil)
        stack.retries?.baseDelay = .seconds(2)
        let connection = try stack.composed()
        let error = try await #require(throws: TransportError.self) { _ = try await connection.send(.get("slow")) }
        #expect(error.code == .deadlineExceeded)
    }
}

extension Response {
    fileprivate static var pausing: Response { Response(status: .serviceUnavailable, fields: [.retryAfter: "1"]) }
}
