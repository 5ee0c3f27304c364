#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// The parts of a response that only libcurl reports, or that it reports differently.
    @Suite(.timeLimit(.minutes(3))) struct CurlAnswerTests {
        let connection: CurlConnection
        let origin: LoopbackOrigin

        init() throws {
            connection = try CurlConnection()
            origin = try LoopbackOrigin()
        }

        private func send(_ answer: LoopbackOrigin.Answer) async throws -> Response {
            origin.enqueue(answer)
            return try await connection.send(.get(origin.url + "/"))
        }

        @Test func `Without trailer fields, trailers is nil`() async throws {
            let response = try await send(.chunked(chunks: ["a"]))
            var reader = try await response.body.open()
            while try await reader.next() != nil {}

            #expect(reader.trailers == nil)
        }

        @Test func `Trailer fields remain when the reader is cancelled after the end`() async throws {
            let response = try await send(.chunked(chunks: ["a"], trailers: ["ETag": "1"]))
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
            try await send("beside").body.drain(upTo: 10)
            #expect(origin.connectionCount == 1)
        }

        @Test(
            arguments: [
                ("5\r\nhel", .truncated), ("5\r\nhello\r\n", .truncated), ("zz\r\nhello\r\n", .malformedResponse),
                ("5\r\nhelloX0\r\n\r\n", .malformedResponse), ("5X\r\nhello\r\n0\r\n\r\n", .malformedResponse),
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
            let response = try await send(
                .script(.raw("HTTP/1.1 200 OK\r\nBad Name: a\r\nContent-Length: 5\r\n\r\nhello")))

            #expect(response.head.headerFields == [.contentLength: "5"])
            #expect(try await response.body.text(upTo: 100) == "hello")
        }

        @Test func `The timings contain the parts of an exchange`() async throws {
            let first = try await send("hello")
            #expect(first.metadata.timings?.isConnectionReused == false)
            #expect(try #require(first.metadata.timings?.connect) > .zero)
            #expect(try #require(first.metadata.timings?.firstByte) >= #require(first.metadata.timings?.connect))
            #expect(first.metadata.timings?.handshake == nil)
            #expect(first.metadata.timings?.protocolVersion == "HTTP/1.1")
            #expect(first.metadata.timings?.remoteAddress == "127.0.0.1")
            try await first.body.drain(upTo: 100)
            #expect(try #require(first.metadata.timings?.total) >= #require(first.metadata.timings?.firstByte))

            let gate = Gate()
            let second = try await send(.script(.head(.ok, ["Content-Length": "1"]), .wait(gate), .raw("x")))
            #expect(second.metadata.timings?.isConnectionReused == true)
            #expect(second.metadata.timings?.connect == nil)
            #expect(second.metadata.timings?.total == nil)
            gate.open()
            try await second.body.drain(upTo: 100)
            #expect(second.metadata.timings?.total != nil)
        }
    }
}
#endif
