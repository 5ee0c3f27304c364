#if os(Linux)
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// What goes over the wire for a request.
    @Suite(.timeLimit(.minutes(1))) struct CurlSendingTests {
        let connection: CurlConnection
        let origin: LoopbackOrigin

        init() throws {
            connection = try CurlConnection()
            origin = try LoopbackOrigin()
            origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok"))
        }

        private func send(_ request: Request) async throws -> ReceivedRequest {
            let response = try await connection.send(request)
            try await response.body.drain(upTo: 100)
            return try #require(origin.requests.last)
        }

        @Test func `A request has no field that nobody asked for`() async throws {
            let received = try await send(.get(origin.url + "/a?b=c"))

            #expect(
                String(decoding: received.rawHead, as: UTF8.self)
                    == "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\n\r\n")
        }

        @Test func `Fields keep their order, spelling, repeats and bytes`() async throws {
            var request = try Request.get(origin.url + "/")
            let lines = [
                ("X-Dup", "1"), ("accept", "a/b"), ("Cookie", "a=1"), ("x-dup", "2"), ("X-Empty", ""),
                ("Cookie", "b=2"),
                ("User-Agent", "me/1"), ("X-Semicolon", "a;"), ("X-Text", "na\u{EF}ve \u{1F36A}"), ("X-DUP", "3"),
            ]
            for (name, value) in lines {
                request.head.headerFields.append(HTTPField(name: try #require(.init(name)), value: value))
            }
            let received = try await send(request)

            #expect(received.fields.lines.dropFirst().map(\.name) == lines.map(\.0))
            #expect(received.fields.lines.dropFirst().map(\.value) == lines.map(\.1))
        }

        @Test func `Bytes that are no UTF-8 pass`() async throws {
            let name = try #require(HTTPField.Name("X-Bytes"))
            var request = try Request.get(origin.url + "/")
            request.head.headerFields.append(HTTPField(name: name, lenientValue: [0x61, 0xFF, 0x80, 0x62]))
            let received = try await send(request)

            #expect(received.rawHead.range(of: Data("X-Bytes: a".utf8) + [0xFF, 0x80] + Data("b\r\n".utf8)) != nil)
        }

        @Test func `A line break in a value cannot add a field`() async throws {
            let name = try #require(HTTPField.Name("X-A"))
            var request = try Request.get(origin.url + "/", fields: [name: "1\r\nX-Evil: 2\nX-Worse: 3\rX-Worst: 4"])
            request.head.headerFields.append(HTTPField(name: name, lenientValue: Array("1\r\nX-Evil: 2\0X: 3".utf8)))
            let received = try await send(request)

            #expect(received.fields.lines.map(\.name) == ["Host", "X-A", "X-A"])
        }

        @Test func `Content in memory is announced by its length alone`() async throws {
            let received = try await send(.post(origin.url + "/", body: "hello"))

            #expect(received.fields.lines.map(\.name) == ["Host", "Content-Length"])
            #expect(received.text == "hello")
        }

        @Test(arguments: [HTTPRequest.Method.post, .put, .patch])
        func `A method with content but none to send announces that`(method: HTTPRequest.Method) async throws {
            let received = try await send(Request(method, origin.url + "/"))

            #expect(received.method == method)
            #expect(received.fields.lines.map(\.name) == ["Host", "Content-Length"])
            #expect(received.fields["Content-Length"] == "0")
        }

        @Test(arguments: [HTTPRequest.Method.get, .head, .delete, .options, .trace])
        func `A method that needs no content announces none`(method: HTTPRequest.Method) async throws {
            let received = try await send(Request(method, origin.url + "/"))

            #expect(received.method == method)
            #expect(received.fields.lines.map(\.name) == ["Host"])
        }

        @Test(arguments: ["GET", "DELETE", "QUERY", "purge", "M-SEARCH", "PROPFIND"])
        func `Any method passes with content`(name: String) async throws {
            let method = try #require(HTTPRequest.Method(name))
            let received = try await send(Request(method, origin.url + "/", body: "hello"))

            #expect(received.method.rawValue == name)
            #expect(received.text == "hello")
        }

        @Test func `HEAD with content is refused before anything is sent`() async throws {
            let request = try Request(.head, origin.url + "/", body: "hello")

            let error = await #expect(throws: InvalidRequestError.self) { try await connection.send(request) }
            #expect(error?.reason == .invalidBody)
            #expect(origin.connectionCount == 0)
        }

        @Test func `A length and a coding that contradict the content are not sent`() async throws {
            var fields: HTTPFields = [.contentLength: "3", .transferEncoding: "chunked", .contentType: "a/b"]
            fields.append(HTTPField(name: .contentLength, value: "4"))
            let received = try await send(.post(origin.url + "/", fields: fields, body: "hello"))

            #expect(received.fields["Transfer-Encoding"] == nil)
            #expect(received.fields.values(of: "Content-Length") == ["5"])
            #expect(received.text == "hello")
        }

        @Test(arguments: [
            "/", "/a%2Fb?c=%20d&e=f+g", "/?", "/a//b", "/a/../b/./c", "/%E2%82%AC", "/a:b@c;d='e'(f)*!", "/[x]|{}",
        ])
        func `The target goes over the wire as it is`(target: String) async throws {
            let authority = "127.0.0.1:\(origin.port)"
            let head = HTTPRequest(method: .get, scheme: "http", authority: authority, path: target)
            let received = try await send(Request(head: head))

            #expect(received.target == target)
        }

        @Test func `The server as a whole can be asked`() async throws {
            let authority = "127.0.0.1:\(origin.port)"
            let head = HTTPRequest(method: .options, scheme: "http", authority: authority, path: "*")
            let received = try await send(Request(head: head))

            #expect(received.target == "*")
        }

        @Test func `The fragment is not sent and stays in the metadata`() async throws {
            let response = try await connection.send(.get(origin.url + "/a#part"))

            #expect(origin.requests.map(\.target) == ["/a"])
            #expect(response.metadata.url?.absoluteString == origin.url + "/a#part")
            #expect(response.metadata.source == .network)
        }

        @Test(arguments: [
            ("ftp", "example.com", "/"), ("http", "a:b@example.com", "/"), ("http", "exa mple.com", "/"),
            ("http", ":80", "/"), ("http", "example.com:99999", "/"), ("http", "example.com", "/a#b"),
            ("http", "example.com", "a"), ("http", "[::1", "/"), ("http", "a[b", "/"), ("http", "a\"b", "/"),
        ])
        func `A URL that cannot be sent to is refused`(scheme: String, authority: String, path: String) async throws {
            let head = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)

            await #expect(throws: InvalidRequestError.self) { try await connection.send(Request(head: head)) }
        }

        @Test func `Cookies are neither kept nor sent`() async throws {
            origin.enqueue(LoopbackOrigin.Answer(fields: ["Set-Cookie": "a=1; Path=/"]))
            _ = try await send(.get(origin.url + "/"))
            let received = try await send(.get(origin.url + "/"))

            #expect(received.fields["Cookie"] == nil)
        }

        @Test func `A connection is used again`() async throws {
            for _ in 0..<5 {
                _ = try await send(.get(origin.url + "/"))
            }
            #expect(origin.connectionCount == 1)
        }
    }
}
#endif
