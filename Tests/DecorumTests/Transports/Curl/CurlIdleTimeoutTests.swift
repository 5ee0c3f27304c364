#if os(Linux)
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    @Suite(.timeLimit(.minutes(1))) struct CurlIdleTimeoutTests {
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
            let connection = try CurlConnection(clock: clock)
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
            let response = try await CurlConnection(idleTimeout: .seconds(5), clock: clock).send(request())
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
                    .wait(gate), .head(.init(code: 103)), .wait(gate), .head(.ok, ["Content-Length": "4"]),
                    .wait(gate), .raw("a"), .wait(gate), .raw("b"), .wait(gate), .raw("c"), .wait(gate), .raw("d")))
            let connection = try CurlConnection(idleTimeout: .seconds(10), clock: clock)
            let request = try request()
            let response = Task { try await connection.send(request) }
            // No event tells that the 103 has arrived; the time stands still until the head has.
            for _ in 0..<2 {
                try await gate.waitForWaiting(1)
                gate.admit()
            }

            var reader = try await response.value.body.open()
            for letter in "abcd" {
                try await gate.waitForWaiting(1)
                clock.advance(by: .seconds(9))
                gate.admit()
                #expect(try await reader.next() == Data(String(letter).utf8))
            }
            #expect(try await reader.next() == nil)
        }

        @Test func `A slow reader does not count`() async throws {
            origin.enqueue(.generated(count: 16 << 20))
            origin.route(.get, "/small", "small")
            let connection = try CurlConnection(clock: clock)
            let response = try await connection.send(request())
            var reader = try await response.body.open()
            // Until the transfer is held back, which nothing tells.
            for _ in 0..<200 {
                try await connection.send(.get(origin.url + "/small")).body.drain(upTo: 100)
            }

            for _ in 0..<100 {
                try await clock.waitForSleepers()
                clock.advance(by: .seconds(59))
            }

            var offset: Int64 = 0
            while let chunk = try await reader.next() {
                #expect(BytePattern.matches(chunk, at: offset))
                offset += Int64(chunk.count)
            }
            #expect(offset == 16 << 20)
        }

        @Test func `A slow producer does not count`() async throws {
            origin.route(.post, "/", "ok")
            let connection = try CurlConnection(clock: clock)
            let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
            let request = try Request.post(origin.url + "/", body: Body(chunks: chunks))
            let response = Task { try await connection.send(request) }
            feed.yield(Data("a".utf8))
            try await origin.waitForHeads(1)
            for _ in 0..<200 {
                try await connection.send(.post(origin.url + "/", body: "b")).body.drain(upTo: 100)
            }

            for _ in 0..<100 {
                try await clock.waitForSleepers()
                clock.advance(by: .seconds(59))
            }
            feed.finish()

            #expect(try await response.value.status == .ok)
        }

        @Test func `Content that nobody takes is given up`() async throws {
            origin.enqueue(.hanging, answering: .afterHead)
            let connection = try CurlConnection(clock: clock)
            let request = try Request.post(origin.url + "/", body: Body(BytePattern.bytes(64 << 20)))
            let response = Task { try await connection.send(request) }
            try await origin.waitForHeads(1)

            // Until the buffers of both sides are full, what is sent starts the time anew.
            let advancing = Task { [clock] in
                while !Task.isCancelled {
                    clock.advance(by: .seconds(10))
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            let error = await #expect(throws: TransportError.self) { _ = try await response.value }
            advancing.cancel()
            #expect(error?.code == .timedOut)
        }

        @Test func `No time at all fails before anything is sent`() async throws {
            let request = try request(.zero)

            let error = await #expect(throws: TransportError.self) { try await CurlConnection().send(request) }
            #expect(error?.code == .timedOut)
            #expect(error?.stage == .connecting)
            #expect(origin.connectionCount == 0)
        }

        @Test func `A negative time is refused before anything is sent`() async throws {
            let request = try request(.seconds(-1))
            let plain = try self.request()

            let error = await #expect(throws: InvalidRequestError.self) { try await CurlConnection().send(request) }
            #expect(error?.reason == .negativeNumber)
            await #expect(throws: InvalidRequestError.self) {
                try await CurlConnection(idleTimeout: .seconds(-1)).send(plain)
            }
            #expect(origin.connectionCount == 0)
        }

        @Test func `A very long time does not overflow`() async throws {
            origin.enqueue(LoopbackOrigin.Answer(body: "hello"))
            let response = try await CurlConnection().send(request(Duration(attoseconds: .max)))

            #expect(try await response.body.text(upTo: 100) == "hello")
        }

        @Test func `A shorter time than that of an earlier request is kept`() async throws {
            origin.route(.get, "/", .hanging)
            let connection = try CurlConnection(clock: clock)
            let (long, short) = (try request(), try request(.seconds(1)))
            let first = Task { try await connection.send(long) }
            try await origin.waitForRequests(1)
            let second = Task { try await connection.send(short) }
            try await origin.waitForRequests(2)

            clock.advance(by: .seconds(1))
            await #expect(throws: TransportError.self) { _ = try await second.value }
            #expect(origin.openConnectionCount >= 1)
            try await clock.waitForSleepers()
            clock.advance(by: .seconds(59))
            await #expect(throws: TransportError.self) { _ = try await first.value }
        }

        @Test func `The machine's own time works too`() async throws {
            origin.enqueue(.hanging)
            let request = try request(.milliseconds(50))

            let error = await #expect(throws: TransportError.self) { try await CurlConnection().send(request) }
            #expect(error?.code == .timedOut)
        }
    }
}
#endif
