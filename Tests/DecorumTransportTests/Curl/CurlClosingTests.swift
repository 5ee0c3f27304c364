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
