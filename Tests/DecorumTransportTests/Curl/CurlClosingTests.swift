#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Closing a transport, its connections and its exchanges.
    @Suite(.timeLimit(.minutes(3))) struct CurlClosingTests {
        let origin: LoopbackOrigin

        init() throws {
            origin = try LoopbackOrigin()
        }

        @Test func `Running exchanges continue to their end, and new requests fail`() async throws {
            let gate = Gate()
            origin.route(nil, "*", .script(.head(.ok, ["Content-Length": "2"]), .raw("a"), .wait(gate), .raw("b")))
            let connection = try CurlConnection()
            let request = try Request.get(origin.url + "/")
            let tasks = (0..<4).map { _ in Task { try await connection.send(request).body.text(upTo: 10) } }
            try await gate.waitForWaiting(4)
            let (hasClosed, closing) = (Gate(), Task { await connection.close() })
            let second = Task {
                await connection.close()
                hasClosed.open()
            }
            var error: TransportError?
            // A request may still be sent until the closing task has run.
            while error == nil {
                do {
                    let task = Task { try await connection.send(request).body.text(upTo: 10) }
                    await Task.yield()
                    task.cancel()
                    _ = try await task.value
                } catch let failure as TransportError {
                    error = failure
                } catch is CancellationError {
                    try Task.checkCancellation()
                }
            }
            #expect(error?.code == .closed)
            #expect(error?.stage == .connecting)
            #expect(!hasClosed.isOpen)

            gate.open()
            await closing.value
            await second.value
            for task in tasks { #expect(try await task.value == "ab") }
            try await origin.waitForOpenConnections(0)
            await connection.close()
        }

        @Test func `SystemConnection closes the transport that it has chosen`() async throws {
            origin.route(nil, "*", "ok")
            let connection = SystemConnection()
            try await connection.send(.get(origin.url + "/")).body.drain(upTo: 10)
            await connection.close()
            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.get(origin.url + "/"))
            }
            #expect(error?.code == .closed)
            try await origin.waitForOpenConnections(0)
        }

        @Test func `Closing does not wait for a response that was released`() async throws {
            origin.route(nil, "*", .generated(count: 1 << 40))
            let connection = try CurlConnection()
            do {
                let response = try await connection.send(.get(origin.url + "/"))
                #expect(response.status == .ok)
            }
            await connection.close()
            try await origin.waitForOpenConnections(0)
        }

        @Test func `A connection is not reused after its lifetime`() async throws {
            origin.route(nil, "*", "ok")
            let connection = try CurlConnection(pool: .init(lifetime: .zero))
            for _ in 0..<3 {
                try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)
            }
            #expect(origin.connectionCount == 3)
            #expect(CurlConnection.Pool().lifetime == .seconds(300))
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
    }
}
#endif
