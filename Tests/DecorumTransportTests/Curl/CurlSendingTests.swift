#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// The bytes that are sent for a request.
    @Suite(.timeLimit(.minutes(3))) struct CurlSendingTests {
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

        @Test func `Bytes that are not UTF-8 are sent unchanged`() async throws {
            let name = try #require(HTTPField.Name("X-Bytes"))
            var request = try Request.get(origin.url + "/")
            request.head.headerFields.append(HTTPField(name: name, lenientValue: [0x61, 0xFF, 0x80, 0x62]))
            let received = try await send(request)

            #expect(received.rawHead.range(of: Data("X-Bytes: a".utf8) + [0xFF, 0x80] + Data("b\r\n".utf8)) != nil)
        }

        @Test func `HEAD with content is refused before anything is sent`() async throws {
            let request = try Request(.head, origin.url + "/", body: "hello")

            let error = await #expect(throws: InvalidRequestError.self) { try await connection.send(request) }
            #expect(error?.reason == .invalidBody)
            #expect(origin.connectionCount == 0)
        }

        @Test func `An OPTIONS request can be sent for the whole server`() async throws {
            let authority = "127.0.0.1:\(origin.port)"
            let head = HTTPRequest(method: .options, scheme: "http", authority: authority, path: "*")
            let received = try await send(Request(head: head))

            #expect(received.target == "*")
        }

        @Test(arguments: [
            ("ftp", "example.com", "/"), ("http", "a:b@example.com", "/"), ("http", "exa mple.com", "/"),
            ("http", ":80", "/"), ("http", "example.com:99999", "/"), ("http", "example.com", "/a#b"),
            ("http", "example.com", "a"), ("http", "[::1", "/"), ("http", "a[b", "/"), ("http", "a\"b", "/"),
        ])
        func `An invalid URL is refused`(scheme: String, authority: String, path: String) async throws {
            let head = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)

            await #expect(throws: InvalidRequestError.self) { try await connection.send(Request(head: head)) }
        }
    }
}
#endif
