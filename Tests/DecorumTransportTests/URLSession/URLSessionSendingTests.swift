import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The requests that a server receives, without streams.
@Suite(.timeLimit(.minutes(3))) struct URLSessionSendingTests {
    let connection = URLSessionConnection()
    let origin: LoopbackOrigin

    init() throws {
        origin = try LoopbackOrigin()
        origin.route(nil, "*", LoopbackOrigin.Answer(body: "ok"))
    }

    private func send(_ request: Request) async throws -> ReceivedRequest {
        let response = try await connection.send(request)
        try await response.body.drain(upTo: 100)
        return try #require(origin.requests.last)
    }

    @Test(arguments: [HTTPRequest.Method.get, .head])
    func `GET and HEAD with content are refused before anything is sent`(method: HTTPRequest.Method) async throws {
        let request = try Request(method, origin.url + "/", body: "hello")

        let error = await #expect(throws: InvalidRequestError.self) { try await connection.send(request) }
        #expect(error?.reason == .invalidBody)
        #expect(origin.connectionCount == 0)
    }

    @Test func `Fields of the request replace the automatic ones`() async throws {
        let fields: HTTPFields = [
            .userAgent: "me/1", .accept: "a/b", .acceptLanguage: "eo", .acceptEncoding: "identity",
            .contentType: "text/plain", .connection: "close", .authorization: "Basic YTpi",
        ]
        let received = try await send(.post(origin.url + "/", fields: fields, body: "x"))

        for field in fields {
            #expect(received.fields.values(of: field.name.rawName) == [field.value])
        }
    }

    @Test func `Repeated fields are joined as RFC 9110 and RFC 6265 say`() async throws {
        var request = try Request.get(origin.url + "/")
        for (name, value) in [("Cookie", "a=1"), ("X-List", "1"), ("Cookie", "b=2"), ("x-list", "2")] {
            request.head.headerFields.append(HTTPField(name: try #require(.init(name)), value: value))
        }
        let received = try await send(request)

        #expect(received.fields.values(of: "Cookie") == ["a=1; b=2"])
        #expect(received.fields.values(of: "X-List") == ["1, 2"])
    }

    @Test func `A field may be empty, and may hold UTF-8`() async throws {
        let empty = try #require(HTTPField.Name("X-Empty"))
        let text = try #require(HTTPField.Name("X-Text"))
        let received = try await send(.get(origin.url + "/", fields: [empty: "", text: "na\u{EF}ve \u{1F36A}"]))

        #expect(received.fields["X-Empty"] == "")
        #expect(received.fields["X-Text"] == "na\u{EF}ve \u{1F36A}")
    }

    @Test func `The layers name the transport and its settings`() {
        let connection = URLSessionConnection(
            connectionsPerHost: -3, idleTimeout: .seconds(5), backlog: .init(memory: -1, disk: 7))

        #expect(connection.layers.map(\.role) == [.transport])
        #expect(connection.layers.first?.name == "URLSessionConnection")
        #expect(
            connection.layers.first?.settings.map(\.value) == ["1", "5.0 seconds", "0 bytes in memory, 7 on disk"])
    }
}
