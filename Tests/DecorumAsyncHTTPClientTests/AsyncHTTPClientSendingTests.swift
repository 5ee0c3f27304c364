#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import NIOCore
import Testing

@testable import DecorumAsyncHTTPClient

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

    @Test func `A Host of the request's own is sent in place of the URL's`() async throws {
        var request = try Request.get(origin.url + "/")
        request.head.headerFields.append(HTTPField(name: try #require(.init("Host")), value: "example.com"))

        #expect(try await send(request).fields.values(of: "Host") == ["example.com"])
    }

    @Test func `M79: The report has the first and the last byte and the protocol, and no other part`() async throws {
        let response = try await connection.send(.get(origin.url + "/"))
        let first = try #require(response.report.timings?.firstByte)
        _ = try await response.body.text(upTo: 10)
        while response.report.timings?.total == nil { await Task.yield() }
        #expect(try #require(response.report.timings?.total) >= first && first > .zero)
        var known = TransferTimings(total: response.report.timings?.total)
        (known.firstByte, known.protocolVersion) = (first, "HTTP/1.1")
        #expect(response.report.timings == known)
    }

    @Test func `The number of open connections follows them, and is not known of a client of the app's`() async throws {
        #expect(connection.openConnections == 0)
        let kept = try await connection.send(.get(origin.url + "/"))
        #expect(connection.openConnections == 1)
        try await kept.body.drain(upTo: 10)
        await connection.close()
        while connection.openConnections != 0 { await Task.yield() }
        #expect(AsyncHTTPClientConnection(.shared).openConnections == nil)
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

    @Test(arguments: ["*", "/a#b", "a"])
    func `A target that cannot be sent is refused before anything is sent`(target: String) async throws {
        let head = HTTPRequest(method: .options, scheme: "http", authority: "127.0.0.1:\(origin.port)", path: target)

        await #expect(throws: InvalidRequestError.self) { try await connection.send(Request(head: head)) }
        #expect(origin.connectionCount == 0)
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

    @Test func `The layers name the transport and its settings, and a client of the app is unknown to the check`()
        async throws
    {
        let client = HTTPClient(configuration: AsyncHTTPClientConnection.configuration())
        let own = AsyncHTTPClientConnection(client, idleTimeout: .seconds(5))

        #expect(own.composition.unknownLayers.count == 1)
        #expect(connection.composition.unknownLayers.isEmpty)
        #expect(connection.layers.map(\.role) == [.transport])
        #expect(
            [AsyncHTTPClientConnection(connectionsPerHost: -3), own].flatMap { $0.layers.map(\.description) } == [
                "AsyncHTTPClientConnection(connectionsPerHost: 1, idleTimeout: 60.0 seconds)",
                "AsyncHTTPClientConnection(client: the app's own, idleTimeout: 5.0 seconds)",
            ])
        try await client.shutdown()
    }

    @Test func `A client of the app is used and not shut down, by release or by closing`() async throws {
        let client = HTTPClient(configuration: AsyncHTTPClientConnection.configuration())
        // A client that is let go while it is open ends the process, so an error has to wait until it is shut down.
        let outcome = await Task {
            var own: AsyncHTTPClientConnection? = AsyncHTTPClientConnection(client)
            #expect(try await own?.send(.get(origin.url + "/")).body.text(upTo: 10) == "ok")
            own = nil
            _ = try await client.get(url: origin.url + "/").get()
            #expect(origin.connectionCount == 1)

            let connection = AsyncHTTPClientConnection(client)
            await connection.close()
            let refusal = await #expect(throws: TransportError.self) {
                try await connection.send(.get(origin.url + "/"))
            }
            #expect(refusal?.code == .closed)
            _ = try await client.get(url: origin.url + "/").get()
        }.result
        try await client.shutdown()
        try outcome.get()
        let error = await #expect(throws: TransportError.self) {
            try await AsyncHTTPClientConnection(client).send(.get(origin.url + "/"))
        }
        #expect(error?.code == .closed)
        #expect(error?.stage == .connecting)
    }

    @Test(arguments: [1, 65_536, 65_537, 5_000_000])
    func `Over TLS, content in memory is given to the client as bytes, and a file as a stream`(count: Int) async throws
    {
        let client = AsyncHTTPClientOwner(AsyncHTTPClientConnection.configuration(), clock: SystemClock())
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ahc-form-\(count)-\(origin.port)")
        defer { try? FileManager.default.removeItem(at: file) }
        try BytePattern.bytes(count).write(to: file)

        let watch = TimeLimitWatch(clock: SystemClock())
        let memory: AsyncHTTPClientContent = try await .make(
            Body(BytePattern.bytes(count)), for: client, isSecure: true, until: nil, on: watch)
        guard case .bytes(let bytes) = memory else {
            Issue.record("Content in memory is not given as bytes.")
            return
        }
        #expect(bytes.count == count)
        let stored: AsyncHTTPClientContent = try await .make(
            Body(contentsOf: file), for: client, isSecure: true, until: nil, on: watch)
        guard case .stream(_, length: Int64(count)) = stored else {
            Issue.record("A file is not given as a stream.")
            return
        }
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
#endif
