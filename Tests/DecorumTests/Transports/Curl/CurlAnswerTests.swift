#if os(Linux)
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Heads, informational responses, trailers and timings.
    @Suite(.timeLimit(.minutes(1))) struct CurlAnswerTests {
        let connection: CurlConnection
        let origin: LoopbackOrigin

        init() throws {
            connection = try CurlConnection()
            origin = try LoopbackOrigin()
        }

        private func send(
            _ answer: LoopbackOrigin.Answer, _ method: HTTPRequest.Method = .get
        ) async throws -> Response {
            origin.enqueue(answer)
            return try await connection.send(Request(method, origin.url + "/"))
        }

        @Test func `Fields keep their order, spelling, repeats and bytes`() async throws {
            var bytes = Data("HTTP/1.1 200 Fine\r\nX-Dup: 1\r\nvary: a\r\nSet-Cookie: a=1, b\r\nx-dup:2\r\n".utf8)
            bytes += Data("X-Empty:\r\nVary: b\r\nSet-Cookie: c=2\r\nX-Bytes: a".utf8) + [0xFF, 0xE9]
            bytes += Data("b\r\nContent-Length: 2\r\n\r\nok".utf8)
            let response = try await send(.script(.raw(bytes)))

            let names = [
                "X-Dup", "vary", "Set-Cookie", "x-dup", "X-Empty", "Vary", "Set-Cookie", "X-Bytes", "Content-Length",
            ]
            #expect(response.head.headerFields.map(\.name.rawName) == names)
            #expect(response.head.headerFields.prefix(7).map(\.value) == ["1", "a", "a=1, b", "2", "", "b", "c=2"])
            let odd = try #require(response.head.headerFields.first { $0.name.rawName == "X-Bytes" })
            #expect(unsafe odd.withUnsafeBytesOfValue { unsafe Array($0) } == [0x61, 0xFF, 0xE9, 0x62])
            #expect(response.status.reasonPhrase == "Fine")
            #expect(try await response.body.text(upTo: 10) == "ok")
        }

        @Test(arguments: [401, 407, 301, 302, 303, 304, 307, 308, 404, 417, 421, 500, 503])
        func `Any status is a response`(code: Int) async throws {
            let fields: RawFields = [
                "Location": "/elsewhere", "WWW-Authenticate": "Basic realm=\"x\"",
                "Proxy-Authenticate": "Basic realm=\"x\"",
            ]
            let response = try await send(.init(.init(code: code), fields: fields, body: "text"))

            #expect(response.status.code == code)
            #expect(response.head.headerFields[.location] == "/elsewhere")
            #expect(try await response.body.text(upTo: 100) == (code == 304 ? "" : "text"))
            #expect(origin.requests.map(\.target) == ["/"])
        }

        @Test func `Informational responses go to the metadata`() async throws {
            let response = try await send(
                LoopbackOrigin.Answer(body: "hello").after(
                    .head(.continue), .head(.init(code: 103), ["Link": "</a>"]), .head(.init(code: 102))))

            #expect(response.metadata.informational.map(\.status.code) == [100, 103, 102])
            let link = try #require(HTTPField.Name("Link"))
            #expect(response.metadata.informational.dropFirst().first?.headerFields[values: link] == ["</a>"])
            #expect(try await response.body.text(upTo: 100) == "hello")
        }

        @Test func `Trailer fields come with the end of the body`() async throws {
            let response = try await send(
                .chunked(chunks: ["a", "b"], trailers: ["Digest": "x", "X-Dup": "1", "x-dup": "2"]))
            var reader = try await response.body.open()
            #expect(reader.trailers == nil || reader.trailers?.isEmpty == false)
            while try await reader.next() != nil {}

            #expect(reader.trailers?.map(\.name.rawName) == ["Digest", "X-Dup", "x-dup"])
            #expect(reader.trailers?.map(\.value) == ["x", "1", "2"])
        }

        @Test func `Without trailer fields there are none`() async throws {
            let response = try await send(.chunked(chunks: ["a"]))
            var reader = try await response.body.open()
            while try await reader.next() != nil {}

            #expect(reader.trailers == nil)
        }

        @Test(arguments: [204, 304])
        func `A response without content has an empty body and keeps its fields`(code: Int) async throws {
            let response = try await send(
                .init(.init(code: code), fields: ["Content-Encoding": "gzip", "ETag": "\"1\""]))

            #expect(response.body == .empty)
            #expect(response.head.headerFields[.contentEncoding] == "gzip")
        }

        @Test func `HEAD has the fields of the content that is not there`() async throws {
            let response = try await send(.script(.head(.ok, ["Content-Length": "1234"])), .head)

            #expect(response.body == .empty)
            #expect(response.head.headerFields[.contentLength] == "1234")
            _ = try await send("ok")
            #expect(origin.connectionCount == 1)
        }

        @Test func `Coded content is left as it is`() async throws {
            let bytes = Data([0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 2, 3])
            let response = try await send(.init(fields: ["Content-Encoding": "gzip"], body: bytes))

            #expect(response.head.headerFields[.contentEncoding] == "gzip")
            #expect(response.metadata.decodedContentCodings.isEmpty)
            #expect(response.body.length == 10)
            #expect(try await response.body.data(upTo: 100) == bytes)
        }

        @Test(arguments: [
            "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 999 Odd\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
            "HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nBad Name: a\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\n\r\n",
        ])
        func `What is unusual but allowed is a response`(answer: String) async throws {
            let response = try await send(.script(.raw(answer), .close))

            #expect(try await response.body.text(upTo: 100) == "hello")
        }

        @Test func `The timings tell the parts of an exchange`() async throws {
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
