#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

extension IsolatedTests {
    /// The bytes that are sent, the parts of a response that only libcurl reports, and the end of a transport.
    @Suite(.timeLimit(.minutes(3))) struct CurlExchangeTests {
        let connection: CurlConnection
        let origin: LoopbackOrigin

        init() throws {
            connection = try CurlConnection()
            origin = try LoopbackOrigin()
            origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok"))
        }

        private func response(to answer: LoopbackOrigin.Answer) async throws -> Response {
            origin.enqueue(answer)
            return try await connection.send(.get(origin.url + "/"))
        }

        private func send(_ request: Request) async throws -> ReceivedRequest {
            let response = try await connection.send(request)
            try await response.body.drain(upTo: 100)
            return try #require(origin.requests.last)
        }

        @Test func `Bytes that are not UTF-8 are sent unchanged`() async throws {
            let name = try #require(HTTPField.Name("X-Bytes"))
            var request = try Request.get(origin.url + "/")
            request.head.headerFields.append(HTTPField(name: name, lenientValue: [0x61, 0xFF, 0x80, 0x62]))
            let received = try await send(request)

            #expect(received.rawHead.range(of: Data("X-Bytes: a".utf8) + [0xFF, 0x80] + Data("b\r\n".utf8)) != nil)
        }

        @Test func `An OPTIONS request can be sent for the whole server`() async throws {
            let authority = "127.0.0.1:\(origin.port)"
            let head = HTTPRequest(method: .options, scheme: "http", authority: authority, path: "*")
            let received = try await send(Request(head: head))

            #expect(received.target == "*")
        }

        @Test func `Trailer fields remain when the reader is cancelled after the end`() async throws {
            let response = try await response(to: .chunked(chunks: ["a"], trailers: ["ETag": "1"]))
            let gate = Gate()
            let task = Task {
                var reader = try await response.body.open()
                while try await reader.next() != nil {}
                try? await gate.wait()
                let further = try? await reader.next()
                return (further, reader.trailers)
            }
            try await gate.waitForWaiting(1)
            task.cancel()

            let (further, trailers) = try await task.value
            #expect(further == nil)
            #expect(trailers == [.eTag: "1"])
        }

        @Test func `Trailer fields arrive for a request with content too`() async throws {
            origin.enqueue(.chunked(chunks: ["a", "bc"], trailers: ["ETag": "1", "Age": "2"]))
            let response = try await connection.send(.post(origin.url + "/", body: "hello"))
            var reader = try await response.body.open()
            var content = Data()
            while let chunk = try await reader.next() { content += chunk }

            #expect(content == Data("abc".utf8))
            #expect(reader.trailers == [.eTag: "1", .age: "2"])
            #expect(response.body.length == nil)
            try await self.response(to: "beside").body.drain(upTo: 10)
            #expect(origin.connectionCount == 1)
        }

        @Test(
            arguments: [
                ("5\r\nhel", .truncated), ("5\r\nhello\r\n", .truncated), ("zz\r\nhello\r\n", .malformedResponse),
            ] as [(String, TransportError.Code)])
        func `Broken chunks have their code for a request with content too`(
            chunks: String, code: TransportError.Code
        ) async throws {
            let raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
            origin.enqueue(.script(.receiveBody, .raw(raw), .close))
            let response = try await connection.send(.post(origin.url + "/", body: "hello"))
            let error = await #expect(throws: TransportError.self) { try await response.body.data(upTo: 100) }

            #expect(error?.code == code)
            #expect(error?.stage == .body)
        }

        @Test func `A field with an invalid name is ignored`() async throws {
            let response = try await response(
                to:
                    .script(.raw("HTTP/1.1 200 OK\r\nBad Name: a\r\nContent-Length: 5\r\n\r\nhello")))

            #expect(response.head.headerFields == [.contentLength: "5"])
            #expect(try await response.body.text(upTo: 100) == "hello")
        }

        @Test func `The timings contain the parts of an exchange`() async throws {
            let first = try await response(to: "hello")
            #expect(first.metadata.timings?.isConnectionReused == false)
            #expect(try #require(first.metadata.timings?.connect) > .zero)
            #expect(try #require(first.metadata.timings?.firstByte) >= #require(first.metadata.timings?.connect))
            #expect(first.metadata.timings?.handshake == nil)
            #expect(first.metadata.timings?.protocolVersion == "HTTP/1.1")
            #expect(first.metadata.timings?.remoteAddress == "127.0.0.1")
            try await first.body.drain(upTo: 100)
            #expect(try #require(first.metadata.timings?.total) >= #require(first.metadata.timings?.firstByte))

            let gate = Gate()
            let second = try await response(to: .script(.head(.ok, ["Content-Length": "1"]), .wait(gate), .raw("x")))
            #expect(second.metadata.timings?.isConnectionReused == true)
            #expect(second.metadata.timings?.connect == nil)
            #expect(second.metadata.timings?.total == nil)
            gate.open()
            try await second.body.drain(upTo: 100)
            #expect(second.metadata.timings?.total != nil)
        }

        @Test(arguments: [
            LoopbackOrigin.Answer(body: "early"), .init(.contentTooLarge, body: "early"),
            .script(.head(.ok, ["Content-Length": "5"]), .raw("early"), .reset),
            .script(.head(.contentTooLarge, ["Content-Length": "5"]), .raw("early"), .reset),
            .chunked(chunks: ["ear", "ly"]), .chunked(chunks: ["early"], trailers: ["ETag": "1"]),
            .script(.head(.ok, ["Transfer-Encoding": "chunked"]), .raw("5\r\nearly\r\n0\r\n\r\n"), .reset),
            .script(.head(.ok, [:]), .raw("early"), .close),
        ])
        func `A complete response is returned before the upload ends`(answer: LoopbackOrigin.Answer) async throws {
            let connection = try CurlConnection(idleTimeout: .seconds(10))
            origin.route(.get, "*", "beside")
            for _ in 0..<3 {
                origin.enqueue(answer, answering: .afterHead)
                let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
                feed.yield(Data("a".utf8))
                let response = try await connection.send(.post(origin.url + "/", body: Body(chunks: chunks)))
                #expect(try await response.body.text(upTo: 100) == "early")
                let beside = try await connection.send(.get(origin.url + "/"))
                #expect(try await beside.body.text(upTo: 100) == "beside")
                withExtendedLifetime(feed) {}
            }
            #expect(origin.requests.count { $0.method == .post && $0.isComplete } == 0)
        }

        @Test func `Content counts as progress before the turn in which it arrived is over`() async throws {
            let (origin, gate, clock) = (try LoopbackOrigin(), Gate(), TurnClock())
            origin.enqueue(.script(.head(.ok, ["Content-Length": "2"]), .wait(gate), .raw("a"), .wait(gate), .raw("b")))
            let connection = try CurlConnection(idleTimeout: .seconds(10), clock: clock)
            var reader = try await connection.send(.get(origin.url + "/")).body.open()
            try await gate.waitForWaiting(1)
            clock.base.advance(by: .seconds(9))

            clock.holdNextTurn()
            gate.admit()
            try await clock.isHeld.wait()
            #expect(try await reader.next() == Data("a".utf8))
            clock.base.advance(by: .seconds(9))
            // Waits until the timeout has looked at the exchange and sleeps again.
            try await clock.base.waitForSleepers()
            clock.release()

            try await gate.waitForWaiting(1)
            gate.admit()
            #expect(try await reader.next() == Data("b".utf8))
            #expect(try await reader.next() == nil)
        }
    }
}

/// A virtual clock that holds the transport's thread where it asks for the time, which it does at the end of a turn.
private final class TurnClock: DatedClock {
    let base = VirtualClock()
    /// Opens when the thread is held.
    let isHeld = Gate()
    private let holdsTurn = Mutex(false)
    private let turn = DispatchSemaphore(value: 0)

    func holdNextTurn() { holdsTurn.withLock { $0 = true } }
    func release() { turn.signal() }

    var now: ContinuousClock.Instant {
        if Self.isThreadOfTransport, holdsTurn.withLock({ exchange(&$0, with: false) }) {
            isHeld.open()
            turn.wait()
        }
        return base.now
    }

    private static var isThreadOfTransport: Bool {
        (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) == "decorum.curl\n"
    }

    var date: Date { base.date }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        try await base.sleep(until: deadline, tolerance: tolerance)
    }
}
#endif
