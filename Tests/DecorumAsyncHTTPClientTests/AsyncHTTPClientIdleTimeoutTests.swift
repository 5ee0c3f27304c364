#if AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import DecorumTestSupport
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

    @Test func `A slow reader does not count, and the server is held back meanwhile`() async throws {
        origin.enqueue(.generated(count: 64 << 20))
        let connection = AsyncHTTPClientConnection(clock: clock)
        let response = try await connection.send(request())
        // While these are answered, the first response fills all buffers between the server and its reader.
        origin.route(.get, "/", LoopbackOrigin.Answer(body: "next"))
        for _ in 0..<100 { _ = try await connection.send(request()).body.drain(upTo: 100) }

        for _ in 0..<100 {
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(36))
        }

        var offset: Int64 = 0
        for try await chunk in response.body {
            #expect(BytePattern.matches(chunk, at: offset))
            offset += Int64(chunk.count)
        }
        #expect(offset == 64 << 20)
    }

    @Test func `A slow source does not count`() async throws {
        let turn = Gate()
        let chunks = AsyncStream<Data> {
            try? await turn.wait()
            return turn.isOpen ? nil : Data("a".utf8)
        }
        origin.enqueue(.init(body: "ok"))
        let connection = AsyncHTTPClientConnection(clock: clock)
        let request = try Request.put(origin.url + "/", body: Body(chunks: chunks))
        let response = Task { try await connection.send(request).body.text(upTo: 10) }
        turn.admit()
        try await origin.waitForHeads(1)
        try await yield { origin.requests.first?.bodyLength != 0 }
        try await turn.waitForWaiting(1)

        for _ in 0..<100 {
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(36))
        }
        turn.open()

        #expect(try await response.joinedValue == "ok")
    }

    @Test func `Content that the server does not read times out`() async throws {
        origin.enqueue(.hanging, answering: .afterHead)
        let connection = AsyncHTTPClientConnection(clock: clock)
        let request = try Request.post(origin.url + "/", body: Body(BytePattern.bytes(64 << 20)))
        let response = Task { try await connection.send(request) }
        try await origin.waitForHeads(1)

        // Until the buffers of both sides are full, each piece that is sent restarts the time.
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
}
#endif
