#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import Testing

@testable import DecorumAsyncHTTPClient

/// Events of one stream of an HTTP/2 connection, beside others that go on.
@Suite(.timeLimit(.minutes(3)), .disabled(if: SecureServer.missingForTLS != nil)) struct AsyncHTTPClientHTTP2Tests {
    struct Ending: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: TransportError.Code
        let stage: TransportError.Stage
        let end: @Sendable (HTTP2StreamID, HTTP2Origin.Peer) -> Void
    }

    private static func reset(
        _ reason: NIOHTTP2.HTTP2ErrorCode, _ code: TransportError.Code, _ stage: TransportError.Stage
    ) -> Ending {
        Ending(testDescription: "reset with \(reason) at \(stage)", code: code, stage: stage) { stream, peer in
            if stage == .body {
                peer.sendHead([":status": "200"], on: stream)
                peer.sendContent("half", on: stream)
            }
            peer.send(.rstStream(reason), on: stream)
        }
    }

    private static func head(_ name: String, _ fields: HPACKHeaders) -> Ending {
        Ending(testDescription: name, code: .malformedResponse, stage: .head) { stream, peer in
            peer.sendHead(fields, on: stream, isEnd: true)
        }
    }

    static let endings: [Ending] = [
        reset(.refusedStream, .connectionLost, .connecting),
        reset(.cancel, .connectionLost, .head),
        reset(.internalError, .connectionLost, .head),
        reset(.noError, .connectionLost, .head),
        reset(.enhanceYourCalm, .connectionLost, .head),
        reset(.cancel, .connectionLost, .body),
        reset(.noError, .truncated, .body),
        Ending(testDescription: "GOAWAY before the stream", code: .connectionLost, stage: .connecting) { stream, peer in
            peer.send(.goAway(lastStreamID: 1, errorCode: .noError, opaqueData: nil), on: .rootStream)
        },
        Ending(
            testDescription: "GOAWAY behind the stream, and the end of the connection", code: .connectionLost,
            stage: .head
        ) { stream, peer in
            peer.send(.goAway(lastStreamID: stream, errorCode: .internalError, opaqueData: nil), on: .rootStream)
            peer.close()
        },
        head("no status", ["server": "odd"]),
        head("a status that is no number", [":status": "abc"]),
        head("a pseudo-field of requests", [":status": "200", ":path": "/"]),
        head("a status behind a field", ["server": "odd", ":status": "200"]),
        head("a field of the connection", [":status": "200", "transfer-encoding": "chunked"]),
        head("two lengths", [":status": "200", "content-length": "0", "content-length": "3"]),
        head("a length that is no number", [":status": "200", "content-length": "0x0"]),
        Ending(testDescription: "fewer bytes than the length", code: .malformedResponse, stage: .body) { stream, peer in
            peer.sendHead([":status": "200", "content-length": "9"], on: stream)
            peer.sendContent("half", on: stream, isEnd: true)
        },
    ]

    @Test(arguments: endings)
    func `A stream that ends too early has its code and stage`(ending: Ending) async throws {
        let origin = try await HTTP2Origin { path, stream, peer in
            guard path == "/end" else { return peer.answer(path, on: stream) }
            ending.end(stream, peer)
        }
        let connection = try AsyncHTTPClientConnection.trusting(origin.root)
        #expect(try await connection.text(of: origin.url + "/first") == "/first")

        let error = await #expect(throws: TransportError.self) {
            try await connection.send(.post(origin.url + "/end", body: "hello")).body.data(upTo: 100)
        }
        #expect(error?.code == ending.code)
        #expect(error?.stage == ending.stage)
        #expect(error?.isUnprocessed == (ending.stage == .connecting))
        #expect(try await connection.text(of: origin.url + "/last") == "/last")
    }

    @Test func `A stream that was taken before GOAWAY goes on to its end`() async throws {
        let gate = Gate()
        let origin = try await HTTP2Origin { path, stream, peer in
            switch path {
            case "/long":
                peer.sendHead([":status": "200"], on: stream)
                peer.sendContent("half", on: stream)
                Task {
                    try await gate.wait()
                    peer.sendContent("half", on: stream, isEnd: true)
                }
            case "/refused": peer.send(.goAway(lastStreamID: 1, errorCode: .noError, opaqueData: nil), on: .rootStream)
            default: peer.answer("\(peer.number)", on: stream)
            }
        }
        let connection = try AsyncHTTPClientConnection.trusting(origin.root)
        let long = try await connection.send(.get(origin.url + "/long"))

        let error = await #expect(throws: TransportError.self) {
            try await connection.send(.post(origin.url + "/refused", body: "hello"))
        }
        #expect(error?.stage == .connecting)
        #expect(try await connection.text(of: origin.url + "/next") == "2")
        gate.open()
        #expect(try await long.body.text(upTo: 100) == "halfhalf")
    }

    @Test func `A connection on which nothing is received is not used after a timeout`() async throws {
        let origin = try await HTTP2Origin { path, stream, peer in
            if peer.number > 1 || path == "/first" { peer.answer("\(peer.number)", on: stream) }
        }
        let clock = VirtualClock()
        let connection = try AsyncHTTPClientConnection.trusting(origin.root, clock: clock)
        #expect(try await connection.text(of: origin.url + "/first") == "1")
        let request = try Request.get(origin.url + "/silent")
        let silent = Task { try await connection.send(request) }
        try await origin.waitForHeads(2)

        try await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        let error = await #expect(throws: TransportError.self) { _ = try await silent.value }
        #expect(error?.code == .timedOut)

        #expect(try await connection.text(of: origin.url + "/next") == "2")
        try await origin.waitForOpenConnections(1)
    }

    @Test func `A silent connection to another server stays in use after a timeout`() async throws {
        let origins = try await [HTTP2Origin.silent(at: "/silent"), .silent(at: "/silent")]
        let clock = VirtualClock()
        // One root for both, because each origin has its own certificate.
        let roots = try origins.flatMap { try NIOSSLCertificate.fromPEMFile($0.root.path) }
        var configuration = AsyncHTTPClientConnection.configuration()
        configuration.tlsConfiguration = .makeClientConfiguration()
        configuration.tlsConfiguration?.trustRoots = .certificates(roots)
        let connection = AsyncHTTPClientConnection(configuration: configuration, clock: clock)
        var patient = try Request.get(origins[1].url + "/silent")
        patient.options.idleTimeout = .seconds(3600)
        let waiting = Task { [patient] in try await connection.send(patient) }
        try await origins[1].waitForHeads(1)
        // The settings of the server arrive before this response. If they arrived after the clock has moved, the
        // connection would not count as silent.
        #expect(try await connection.text(of: origins[0].url + "/first") == "1")
        let request = try Request.get(origins[0].url + "/silent")
        let silent = Task { try await connection.send(request) }
        try await origins[0].waitForHeads(2)

        try await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        await #expect(throws: TransportError.self) { _ = try await silent.value }

        #expect(try await connection.text(of: origins[1].url + "/next") == "1")
        #expect(try await connection.text(of: origins[0].url + "/next") == "2")
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
    }

    @Test func `A connection on which others are answered stays in use after a timeout`() async throws {
        let origin = try await HTTP2Origin.silent(at: "/silent")
        let clock = VirtualClock()
        let connection = try AsyncHTTPClientConnection.trusting(origin.root, clock: clock)
        let request = try Request.get(origin.url + "/silent")
        let silent = Task { try await connection.send(request) }
        try await origin.waitForHeads(1)
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(59))
        #expect(try await connection.text(of: origin.url + "/other") == "1")

        clock.advance(by: .seconds(1))
        await #expect(throws: TransportError.self) { _ = try await silent.value }

        #expect(try await connection.text(of: origin.url + "/next") == "1")
    }
}

extension ProcessTests {
    /// Responses that come before the content was sent, in processes that end where AsyncHTTPClient traps.
    @Suite(.timeLimit(.minutes(3)), .disabled(if: SecureServer.missingForTLS != nil))
    struct AsyncHTTPClientEarlyAnswerTests {
        @Test(arguments: [200, 413])
        func `An early answer over HTTP/2 is the answer, and the connection serves on`(status: Int) async {
            await #expect(processExitsWith: .success) { [status] in
                ProcessTests.begin()
                let origin = try await HTTP2Origin.answeringEarly(with: status)
                let connection = try AsyncHTTPClientConnection.trusting(origin.root)
                for round in 0..<(Footprint.isSoak ? 50 : 20) {
                    for body in [Body.endless, Body(BytePattern.bytes(1 << 20))] {
                        async let other = connection.text(of: origin.url + "/other")
                        let response = try await connection.send(.post(origin.url + "/early/\(round % 3)", body: body))
                        #expect(response.status.code == status)
                        #expect(try await response.body.text(upTo: 10) == (round % 3 == 0 ? "" : "early"))
                        #expect(try await other == "other")
                    }
                    let request = try Request.post(origin.url + "/silent", body: .endless)
                    let cancelled = Task { try await connection.send(request) }
                    await Task.yield()
                    cancelled.cancel()
                    await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
                }
                #expect(origin.connectionCount == 1)
                await connection.close()
            }
        }

        @Test func `Content in memory survives an early answer with a client of the app's own`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try await HTTP2Origin.answeringEarly(with: 200)
                let client = HTTPClient(configuration: .trusting(origin.root))
                let connection = AsyncHTTPClientConnection(client)
                for round in 0..<20 {
                    let response = try await connection.send(
                        .post(origin.url + "/early/\(round % 3)", body: Body(BytePattern.bytes(1 << 20))))
                    #expect(response.status == .ok)
                    try await response.body.drain(upTo: 10)
                    #expect(try await connection.text(of: origin.url + "/other") == "other")
                }
                // Not shut down, which would wait for the streams that such a client leaves half open.
                exit(EXIT_SUCCESS)
            }
        }

        // When this test fails, AsyncHTTPClient has changed, and the documentation has to change too.
        @Test func `A stream with a client of the app's own ends the process`() async {
            await #expect(processExitsWith: .failure) {
                ProcessTests.beginFailure()
                let origin = try await HTTP2Origin.answeringEarly(with: 200)
                let connection = AsyncHTTPClientConnection(HTTPClient(configuration: .trusting(origin.root)))
                for round in 0..<20 {
                    let response = try await connection.send(
                        .post(origin.url + "/early/\(round % 3)", body: .endless))
                    try await response.body.drain(upTo: 10)
                    _ = try await connection.text(of: origin.url + "/other")
                }
                exit(EXIT_SUCCESS)
            }
        }
    }
}

extension HTTP2Origin {
    /// Makes an origin that answers with the number of the connection, but not at one path.
    fileprivate static func silent(at silent: String) async throws -> HTTP2Origin {
        try await HTTP2Origin { path, stream, peer in
            if path != silent { peer.answer("\(peer.number)", on: stream) }
        }
    }

    /// Makes an origin that answers a request as soon as it has its head, and takes some content after that.
    fileprivate static func answeringEarly(with status: Int) async throws -> HTTP2Origin {
        try await HTTP2Origin { path, stream, peer in
            switch path {
            case "/other": peer.answer("other", on: stream)
            case "/silent": break
            case "/early/0":
                peer.sendHead([":status": "\(status)"], on: stream, isEnd: true)
                peer.send(.windowUpdate(windowSizeIncrement: 200_000), on: stream)
            case "/early/1":
                peer.sendHead([":status": "\(status)", "content-length": "5"], on: stream)
                peer.sendContent("early", on: stream, isEnd: true)
                // RFC 9113, section 8.1, allows this to stop the content.
                peer.send(.rstStream(.noError), on: stream)
            default:
                peer.sendHead([":status": "\(status)"], on: stream)
                peer.sendContent("early", on: stream, isEnd: true)
                peer.send(.windowUpdate(windowSizeIncrement: 200_000), on: stream)
            }
            peer.send(.windowUpdate(windowSizeIncrement: 200_000), on: .rootStream)
        }
    }
}

extension HTTPClient.Configuration {
    fileprivate static func trusting(_ root: URL) -> Self {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(root.path)
        var configuration = AsyncHTTPClientConnection.configuration()
        configuration.tlsConfiguration = tls
        return configuration
    }
}

extension AsyncHTTPClientConnection {
    fileprivate static func trusting(_ root: URL, clock: any DatedClock = SystemClock()) throws -> Self {
        Self(configuration: .trusting(root), clock: clock)
    }

    fileprivate func text(of url: String) async throws -> String {
        try await send(.get(url)).body.text(upTo: 100)
    }
}

extension Body {
    fileprivate static var endless: Body {
        Body(replay: .once) { _ in EndlessReader() }
    }
}

private struct EndlessReader: BodyReader {
    let trailers: HTTPFields? = nil

    mutating func next() async throws -> Data? { Data(count: 10_000) }
}

/// The end of an HTTP/1.1 connection before the first byte of a response, as AsyncHTTPClient's own handler hears of it.
@Suite struct HTTP1ConnectionHandlerTests {
    /// Keeps the errors that reach a request, in the place of AsyncHTTPClient's handler of it.
    private final class ErrorKeeper: ChannelInboundHandler {
        typealias InboundIn = Any

        var errors: [any Error] = []

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            errors.append(error)
        }
    }

    private let keeper = ErrorKeeper()
    private let channel: EmbeddedChannel

    init() throws {
        // As over TLS, where nothing is looked for on the socket.
        channel = EmbeddedChannel(handlers: [HTTP1ConnectionHandler(looksAtSocket: false), keeper])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    private func send() throws {
        try channel.writeOutbound(HTTPClientRequestPart.head(.init(version: .http1_1, method: .GET, uri: "/")))
    }

    private func receive(_ text: String) throws {
        try channel.writeInbound(ByteBuffer(string: text))
    }

    private var losses: [Bool] {
        keeper.errors.map { ($0 as? TransportError)?.hasLostReusedConnection ?? false }
    }

    @Test func `The end of a used connection is told once, with its cause`() throws {
        for cause in [IOError(errnoCode: ECONNRESET, reason: "read"), NIOSSLError.uncleanShutdown] as [any Error] {
            let test = try HTTP1ConnectionHandlerTests()
            try test.send()
            try test.receive("HTTP/1.1 200 OK\r\n\r\n")
            try test.send()

            test.channel.pipeline.fireErrorCaught(cause)
            test.channel.pipeline.fireChannelInactive()

            #expect(test.losses == [true])
            let error = test.keeper.errors.first as? TransportError
            #expect(error?.code == .connectionLost && error?.stage == .head && error?.underlying != nil)
        }
    }

    @Test func `No other end counts: of a new connection, of an idle one, or within a response`() throws {
        try send()
        channel.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
        try receive("HTTP/1.1 200 OK\r\n\r\n")
        channel.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
        try send()
        try receive("HTTP/1.1 103 ")
        channel.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
        channel.pipeline.fireChannelInactive()

        #expect(losses == [false, false, false])
    }

    @Test func `A response that is not HTTP is not the end of a connection`() throws {
        try send()
        try receive("HTTP/1.1 200 OK\r\n\r\n")
        try send()
        channel.pipeline.fireErrorCaught(HTTPParserError.invalidVersion)

        #expect(losses == [false])
    }
}

/// The connections of one client, on event loops that run when the test says so.
@Suite struct HTTP2ConnectionsTests {
    let clock = VirtualClock()
    let connections: HTTP2Connections

    init() {
        connections = HTTP2Connections(clock: clock)
    }

    /// Adds a connection with an open stream.
    private func channel(for authority: String) -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        connections.add(channel)
        connections.add(authority: authority, of: channel)
        connections.countStreams(on: channel, by: 1)
        return channel
    }

    @Test func `Connections are retired at the same time, whichever event loop runs first`() {
        let channels = [channel(for: "a.example"), channel(for: "a.example"), channel(for: "b.example")]
        clock.advance(by: .seconds(60))
        let isDone = NIOLockedValueBox(false)

        connections.retire(servingAuthority: "a.example", silentFor: .seconds(60)) {
            isDone.withLockedValue { $0 = true }
        }

        channels[1].embeddedEventLoop.run()
        #expect(!isDone.withLockedValue { $0 })
        channels[0].embeddedEventLoop.run()
        // The event loop of the other server's connection has not run.
        #expect(isDone.withLockedValue { $0 })
    }

    @Test func `Only silent connections with an open stream to the authority are retired`() {
        let idle = channel(for: "a.example")
        connections.countStreams(on: idle, by: -1)
        let other = channel(for: "a.example:8443")
        clock.advance(by: .seconds(59))
        let active = channel(for: "a.example")
        connections.received(on: active)
        clock.advance(by: .seconds(1))
        let isDone = NIOLockedValueBox(false)

        connections.retire(servingAuthority: "a.example", silentFor: .seconds(60)) {
            isDone.withLockedValue { $0 = true }
        }

        // At once, since no event loop has anything to do.
        #expect(isDone.withLockedValue { $0 })
        connections.remove(other)
    }
}

@Suite struct HTTP2StreamEventFilterTests {
    /// Counts the events that reach a request, in the place of AsyncHTTPClient's handler of it.
    private final class EventCounter: ChannelOutboundHandler {
        typealias OutboundIn = Any

        var count = 0

        func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
            count += 1
            promise?.succeed()
        }
    }

    @Test func `A request gets events until its response has ended`() throws {
        let stream = HTTP2StreamHandler()
        let counter = EventCounter()
        let channel = EmbeddedChannel(handlers: [stream, counter, HTTP2StreamEventFilter(of: stream)])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()

        try channel.triggerUserOutboundEvent("shut down").wait()
        #expect(counter.count == 1)

        try channel.writeInbound(HTTPClientResponsePart.head(.init(version: .http2, status: .ok)))
        try channel.triggerUserOutboundEvent("shut down").wait()
        #expect(counter.count == 2)

        try channel.writeInbound(HTTPClientResponsePart.end(nil))
        try channel.triggerUserOutboundEvent("shut down").wait()
        #expect(counter.count == 2)
    }
}
#endif
