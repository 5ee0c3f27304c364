#if AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(3))) struct AsyncHTTPClientIdleTimeoutTests {
    let clock = VirtualClock()
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
    }

    private func request(_ idleTimeout: Duration? = nil) throws -> Request {
        var request = try Request.get(origin.url + "/")
        request.options.idleTimeout = idleTimeout
        return request
    }

    @Test(arguments: [nil, Duration.milliseconds(300), .seconds(90)])
    func `A server that does not answer is given up after the idle timeout`(timeout: Duration?) async throws {
        origin.enqueue(.hanging)
        let connection = AsyncHTTPClientConnection(clock: clock)
        let request = try request(timeout)
        let response = Task { try await connection.send(request) }
        try await origin.waitForRequests(1)

        try await clock.waitForSleepers()
        clock.advance(by: (timeout ?? .seconds(60)) - .nanoseconds(1))
        #expect(origin.openConnectionCount == 1)
        clock.advance(by: .nanoseconds(1))

        let error = await #expect(throws: TransportError.self) { _ = try await response.value }
        #expect(error?.code == .timedOut)
        #expect(error?.stage == .head)
        try await origin.waitForOpenConnections(0)
    }

    @Test func `A body that stands still fails at the stage of the body`() async throws {
        origin.enqueue(.script(.head(.ok, ["Content-Length": "9"]), .raw("hal"), .hang))
        let response = try await AsyncHTTPClientConnection(idleTimeout: .seconds(5), clock: clock).send(request())
        var reader = try await response.body.open()
        #expect(try await reader.next() == Data("hal".utf8))

        clock.advance(by: .seconds(5))

        let error = await #expect(throws: TransportError.self) { try await reader.next() }
        #expect(error?.code == .timedOut)
        #expect(error?.stage == .body)
        try await origin.waitForOpenConnections(0)
    }

    @Test func `Every byte received starts the time anew`() async throws {
        let gate = Gate()
        origin.enqueue(
            .script(
                .head(.ok, ["Content-Length": "3"]), .wait(gate), .raw("a"), .wait(gate), .raw("b"), .wait(gate),
                .raw("c")))
        let connection = AsyncHTTPClientConnection(idleTimeout: .seconds(10), clock: clock)
        var reader = try await connection.send(request()).body.open()

        for letter in "abc" {
            try await gate.waitForWaiting(1)
            clock.advance(by: .seconds(9))
            gate.admit()
            #expect(try await reader.next() == Data(String(letter).utf8))
        }
        #expect(try await reader.next() == nil)
    }

    @Test func `A slow reader does not count, and the server is held back meanwhile`() async throws {
        origin.enqueue(.generated(count: 64 << 20))
        let connection = AsyncHTTPClientConnection(clock: clock)
        let response = try await connection.send(request())
        // While these are answered, the first response fills every buffer on its way.
        origin.route(.get, "/", LoopbackOrigin.Answer(body: "next"))
        for _ in 0..<100 { _ = try await connection.send(request()).body.drain(upTo: 100) }

        for _ in 0..<100 { clock.advance(by: .seconds(36)) }

        var offset: Int64 = 0
        for try await chunk in response.body {
            #expect(BytePattern.matches(chunk, at: offset))
            offset += Int64(chunk.count)
        }
        #expect(offset == 64 << 20)
    }

    @Test func `A slow source does not count`() async throws {
        let (chunks, source) = AsyncStream<Data>.makeStream()
        origin.enqueue(.init(body: "ok"))
        let connection = AsyncHTTPClientConnection(clock: clock)
        let request = try Request.put(origin.url + "/", body: Body(chunks: chunks))
        let response = Task { try await connection.send(request).body.text(upTo: 10) }
        source.yield(Data("a".utf8))
        try await origin.waitForHeads(1)
        while origin.requests.first?.bodyLength == 0 { await Task.yield() }

        for _ in 0..<100 { clock.advance(by: .seconds(36)) }
        source.finish()

        #expect(try await response.value == "ok")
    }

    @Test func `Content that nobody takes is given up`() async throws {
        origin.enqueue(.hanging, answering: .afterHead)
        let connection = AsyncHTTPClientConnection(clock: clock)
        let request = try Request.post(origin.url + "/", body: Body(BytePattern.bytes(64 << 20)))
        let response = Task { try await connection.send(request) }
        try await origin.waitForHeads(1)

        // Until the buffers of both sides are full, what is sent starts the time anew.
        let advancing = Task { [clock] in
            while !Task.isCancelled {
                clock.advance(by: .seconds(10))
                await Task.yield()
            }
        }
        let error = await #expect(throws: TransportError.self) { _ = try await response.value }
        advancing.cancel()
        #expect(error?.code == .timedOut)
    }

    @Test func `No time at all fails before anything is sent, and a negative one is refused`() async throws {
        let (zero, negative) = (try request(.zero), try request(.seconds(-1)))
        let connection = AsyncHTTPClientConnection()

        let error = await #expect(throws: TransportError.self) { try await connection.send(zero) }
        #expect(error?.code == .timedOut)
        #expect(error?.stage == .connecting)
        let refusal = await #expect(throws: InvalidRequestError.self) { try await connection.send(negative) }
        #expect(refusal?.reason == .negativeNumber)
        #expect(origin.connectionCount == 0)
    }

    @Test func `A very long time does not overflow`() async throws {
        origin.enqueue(LoopbackOrigin.Answer(body: "hello"))
        let response = try await AsyncHTTPClientConnection(clock: clock).send(request(.seconds(Int64.max / 4)))

        #expect(try await response.body.text(upTo: 100) == "hello")
    }

    @Test func `The machine's own time works too`() async throws {
        origin.enqueue(.hanging)
        let request = try request(.milliseconds(50))

        let error = await #expect(throws: TransportError.self) {
            try await AsyncHTTPClientConnection().send(request)
        }
        #expect(error?.code == .timedOut)
    }
}
#endif
