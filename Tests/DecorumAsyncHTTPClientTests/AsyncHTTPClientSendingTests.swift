#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import DecorumAsyncHTTPClient
import DecorumTesting
import Foundation
import HTTPTypes
import NIOCore
import Testing

/// The requests that a server receives, and its responses.
@Suite(.timeLimit(.minutes(3))) struct AsyncHTTPClientSendingTests {
    let connection = AsyncHTTPClientConnection()
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

    @Test func `A request has no field but those of its caller and Host`() async throws {
        let received = try await send(.get(origin.url + "/a?b=c"))

        #expect(
            String(decoding: received.rawHead, as: UTF8.self)
                == "GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\n\r\n")
    }

    @Test func `Fields keep their order, spelling and repetitions`() async throws {
        var request = try Request.get(origin.url + "/")
        let lines = [("X-b", "1"), ("accept", "a"), ("X-B", ""), ("Cookie", "a=1"), ("Cookie", "b=2"), ("Ünï", "ü")]
        for (name, value) in lines.dropLast() {
            request.head.headerFields.append(HTTPField(name: try #require(.init(name)), value: value))
        }
        request.head.headerFields.append(HTTPField(name: try #require(.init("X-Text")), value: "für \u{1F600}"))
        origin.enqueue(.init(fields: ["ETag": "1", "x-a": "1", "Set-Cookie": "a", "X-A": "2", "Set-Cookie": "b"]))

        let response = try await connection.send(request)

        let received = try #require(origin.requests.last).fields.lines
        #expect(received.map(\.name) == ["Host", "X-b", "accept", "X-B", "Cookie", "Cookie", "X-Text"])
        #expect(received.dropFirst().map(\.value) == ["1", "a", "", "a=1", "b=2", "für \u{1F600}"])
        let fields = response.head.headerFields
        #expect(fields.map(\.name.rawName) == ["ETag", "x-a", "Set-Cookie", "X-A", "Set-Cookie", "Content-Length"])
        #expect(fields.map(\.value) == ["1", "1", "a", "2", "b", "0"])
    }

    @Test func `A Host of the request's own is sent in place of the URL's`() async throws {
        var request = try Request.get(origin.url + "/")
        request.head.headerFields.append(HTTPField(name: try #require(.init("Host")), value: "example.com"))

        #expect(try await send(request).fields.values(of: "Host") == ["example.com"])
    }

    @Test func `GET passes with content`() async throws {
        let received = try await send(Request(.get, origin.url + "/", body: "hello"))

        #expect(received.method == .get)
        #expect(received.text == "hello")
    }

    @Test func `TRACE with content is refused before anything is sent`() async throws {
        let request = try Request(.trace, origin.url + "/", body: "hello")

        let error = await #expect(throws: InvalidRequestError.self) { try await connection.send(request) }
        #expect(error?.reason == .invalidBody)
        #expect(origin.connectionCount == 0)
    }

    @Test(arguments: ["/", "/?", "/a%2Fb/../c;d=e//f?x=%20&y='", "/%C3%BC?q=a+b", "//a"])
    func `The target is sent as it is`(target: String) async throws {
        let head = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(origin.port)", path: target)

        #expect(try await send(Request(head: head)).target == target)
    }

    @Test(arguments: ["*", "/a#b", "a"])
    func `A target that cannot be sent is refused before anything is sent`(target: String) async throws {
        let head = HTTPRequest(method: .options, scheme: "http", authority: "127.0.0.1:\(origin.port)", path: target)

        await #expect(throws: InvalidRequestError.self) { try await connection.send(Request(head: head)) }
        #expect(origin.connectionCount == 0)
    }

    @Test func `Content stays coded, and so do the fields that say so`() async throws {
        origin.enqueue(.init(fields: ["Content-Encoding": "gzip"], body: "not gzip"))

        let response = try await connection.send(.get(origin.url + "/"))
        #expect(response.head.headerFields[.contentEncoding] == "gzip")
        #expect(response.body.length == 8)
        #expect(try await response.body.text(upTo: 10) == "not gzip")
    }

    @Test func `Informational responses and trailers do not disturb the answer`() async throws {
        origin.enqueue(
            .script(
                .head(.init(code: 103), ["Link": "</a>"]), .head(.ok, ["Transfer-Encoding": "chunked"]),
                .chunk("hello"), .lastChunk(trailers: ["Digest": "x"])))

        let response = try await connection.send(.get(origin.url + "/"))
        #expect(response.status == .ok)
        #expect(try await response.body.collect(upTo: 10).data == Data("hello".utf8))
    }

    @Test func `An own client of the app is unknown to the check, and one of a configuration is not`() async throws {
        let client = HTTPClient(configuration: AsyncHTTPClientConnection.configuration())
        #expect(AsyncHTTPClientConnection(client).composition.unknownLayers.count == 1)
        #expect(connection.composition.unknownLayers.isEmpty)
        try await client.shutdown()
    }

    @Test func `The layers name the transport and its settings`() async throws {
        let client = HTTPClient(configuration: AsyncHTTPClientConnection.configuration())
        let own = AsyncHTTPClientConnection(client, idleTimeout: .seconds(5))

        #expect(connection.layers.map(\.role) == [.transport])
        #expect(
            AsyncHTTPClientConnection(connectionsPerHost: -3).layers.map(\.description)
                == ["AsyncHTTPClientConnection(connectionsPerHost: 1, idleTimeout: 60.0 seconds)"])
        #expect(
            own.layers.map(\.description)
                == ["AsyncHTTPClientConnection(client: the app's own, idleTimeout: 5.0 seconds)"])
        try await client.shutdown()
    }

    @Test func `A client of the app is used and not shut down`() async throws {
        let client = HTTPClient(configuration: AsyncHTTPClientConnection.configuration())
        var own: AsyncHTTPClientConnection? = AsyncHTTPClientConnection(client)
        #expect(try await own?.send(.get(origin.url + "/")).body.text(upTo: 10) == "ok")
        own = nil

        _ = try await client.get(url: origin.url + "/").get()
        #expect(origin.connectionCount == 1)
        try await client.shutdown()

        let error = await #expect(throws: TransportError.self) {
            try await AsyncHTTPClientConnection(client).send(.get(origin.url + "/"))
        }
        #expect(error?.stage == .connecting)
    }

    @Test func `A client that follows redirections fails the request`() async throws {
        var configuration = AsyncHTTPClientConnection.configuration()
        configuration.redirectConfiguration = .follow(max: 5, allowCycles: false)
        let client = HTTPClient(configuration: configuration)
        origin.enqueue(.init(.found, fields: ["Location": "/next"]))

        let error = await #expect(throws: TransportError.self) {
            try await AsyncHTTPClientConnection(client).send(.get(origin.url + "/"))
        }
        #expect(error?.underlying.map { "\($0)" }?.contains("configuration()") == true)
        try await client.shutdown()
    }
}

extension [Data] {
    fileprivate var stream: AsyncStream<Data> {
        AsyncStream { continuation in
            for chunk in self { continuation.yield(chunk) }
            continuation.finish()
        }
    }
}
#endif
