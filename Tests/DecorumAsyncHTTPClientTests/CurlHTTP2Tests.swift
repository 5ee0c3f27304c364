#if AsyncHTTPClient
import Decorum
import DecorumTestSupport
import Foundation
import HTTPTypes
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import Testing

@testable import DecorumTesting

#if AsyncHTTPClient && os(Linux)
extension IsolatedTests {
    /// Streams of libcurl's transport that end before their requests, on a server of which the tests choose each frame.
    @Suite(.timeLimit(.minutes(3)), .disabled(if: SecureServer.missingForTLS != nil)) struct CurlHTTP2Tests {
        @Test(arguments: [
            "Transfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\nETag: 1\r\n\r\n",
            "Content-Length: 5\r\n\r\nearly",
            "\r\nearly",
        ])
        func `A complete response is returned while content is still to be made`(answer: String) async throws {
            let origin = try await HTTP2Origin(overHTTP1: "HTTP/1.1 200 OK\r\n" + answer) { path, stream, peer in
                guard path == "/early" else { return peer.answer("\(peer.number)", on: stream) }
                peer.sendHead([":status": "200"], on: stream)
                peer.sendContent("early", on: stream)
                peer.sendHead(["etag": "1"], on: stream, isEnd: true)
            }
            let connection = try CurlConnection.trusting(origin.root)
            #expect(try await connection.send(.get(origin.url + "/")).body.text(upTo: 100) == "1")
            for _ in 0..<3 {
                let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
                feed.yield(Data("begun".utf8))
                let response = try await connection.send(.post(origin.url + "/early", body: Body(chunks: chunks)))
                var (reader, content) = (try await response.body.open(), Data())
                while let chunk = try await reader.next() { content += chunk }
                #expect(content == Data("early".utf8))
                #expect(reader.trailers == (answer.contains("ETag") ? [.eTag: "1"] : nil))
                withExtendedLifetime(feed) {}

                #expect(try await connection.send(.get(origin.url + "/")).body.text(upTo: 100) == "1")
            }
            try await origin.waitForOpenConnections(1)
        }

        @Test func `Requests at the same time share their connection while a stream is sent on another`() async throws {
            let origin = try await HTTP2Origin(overHTTP1: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n") {
                _, stream, peer in
                peer.answer("\(peer.number)", on: stream)
            }
            let connection = try CurlConnection.trusting(origin.root)
            let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
            let upload = try await connection.send(.post(origin.url + "/", body: Body(chunks: chunks)))
            #expect(upload.metadata.timings?.protocolVersion == "HTTP/1.1")

            let request = try Request.get(origin.url + "/")
            let numbers = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<32 { group.addTask { try await connection.send(request).body.text(upTo: 100) } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(numbers == ["2"])
            withExtendedLifetime((upload, feed)) {}
        }

        @Test(arguments: [20, 1 << 20])
        func `A response that ends before its request reaches its reader when all content is sent`(
            count: Int
        ) async throws {
            let origin = try await HTTP2Origin { _, stream, peer in
                peer.answer("early", on: stream)
                for stream in [stream, .rootStream] {
                    peer.send(.windowUpdate(windowSizeIncrement: 1 << 20), on: stream)
                }
            }
            let connection = try CurlConnection.trusting(origin.root)
            let response = try await connection.send(.post(origin.url + "/", body: Body(BytePattern.bytes(count))))
            #expect(response.metadata.timings?.protocolVersion == "HTTP/2")
            #expect(try await response.body.text(upTo: 10) == "early")
        }

        @Test func `Content at hand is sent over HTTP/2, and a stream only where the app demands it`() async throws {
            let origin = try await HTTP2Origin(overHTTP1: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") {
                _, stream, peer in
                peer.answer("ok", on: stream)
            }
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try Data("file".utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let connection = try CurlConnection.trusting(origin.root)
            for body in [.empty, "bytes", try Body(contentsOf: file), Body("bytes").observed { _ in }] as [Body] {
                let response = try await connection.send(.post(origin.url + "/", body: body))
                #expect(response.metadata.timings?.protocolVersion == "HTTP/2")
                #expect(try await response.body.text(upTo: 10) == "ok")
            }
            let (chunks, feed) = AsyncStream.makeStream(of: Data.self)
            feed.yield(Data("stream".utf8))
            let response = try await CurlConnection.trusting(origin.root, protocols: .http2)
                .send(.post(origin.url + "/", body: Body(chunks: chunks)))
            #expect(response.metadata.timings?.protocolVersion == "HTTP/2")
            feed.finish()
            #expect(try await response.body.text(upTo: 10) == "ok")
            try await origin.waitForHeads(5)
        }
    }
}

extension CurlConnection {
    fileprivate static func trusting(_ root: URL, protocols: Protocols = .negotiated) throws -> CurlConnection {
        var tls = TLSOptions()
        tls.roots = .file(root)
        return try CurlConnection(protocols: protocols, tls: tls, idleTimeout: .seconds(10))
    }
}
#endif

#if AsyncHTTPClient
/// An HTTP/2 server that sends the frames that a test chooses, and never enlarges its flow-control windows by itself.
final class HTTP2Origin: Sendable {
    /// A connection that a client has made.
    struct Peer: Sendable {
        /// 1 for the first connection.
        let number: Int
        fileprivate let channel: any NIOCore.Channel

        func send(_ payload: HTTP2Frame.FramePayload, on stream: HTTP2StreamID) {
            channel.writeAndFlush(HTTP2Frame(streamID: stream, payload: payload), promise: nil)
        }

        func sendHead(_ fields: HPACKHeaders, on stream: HTTP2StreamID, isEnd: Bool = false) {
            send(.headers(.init(headers: fields, endStream: isEnd)), on: stream)
        }

        func sendContent(_ text: String, on stream: HTTP2StreamID, isEnd: Bool = false) {
            send(.data(.init(data: .byteBuffer(ByteBuffer(string: text)), endStream: isEnd)), on: stream)
        }

        /// Answers with a whole response.
        func answer(_ text: String, on stream: HTTP2StreamID) {
            sendHead([":status": "200"], on: stream)
            sendContent(text, on: stream, isEnd: true)
        }

        func close() {
            channel.close(promise: nil)
        }
    }

    /// Answers a request whose head has arrived.
    typealias Answer = @Sendable (_ path: String, _ stream: HTTP2StreamID, _ peer: Peer) -> Void

    private let server: SecureServer
    private let channel: any NIOCore.Channel
    private let heads: Heads

    /// Starts a server that calls a closure at the head of each request over HTTP/2.
    ///
    /// It sends the same bytes at the head of each request over HTTP/1.1; without them, it has only HTTP/2.
    init(overHTTP1 http1: String? = nil, _ answer: @escaping Answer) async throws {
        server = try await SecureServer.openssl()
        let folder = server.root.deletingLastPathComponent()
        let certificates = try NIOSSLCertificate.fromPEMFile(folder.appendingPathComponent("server.pem").path)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) },
            privateKey: .privateKey(
                try NIOSSLPrivateKey(file: folder.appendingPathComponent("server-key.pem").path, format: .pem)))
        configuration.applicationProtocols = http1 == nil ? ["h2"] : ["h2", "http/1.1"]
        let tls = try NIOSSLContext(configuration: configuration)
        let heads = Heads()
        self.heads = heads
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                let peer = Peer(number: heads.addConnection(), channel: channel)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLServerHandler(context: tls), EndHandler(heads: heads))
                }.flatMap {
                    channel.configureHTTP2SecureUpgrade { channel in
                        channel.eventLoop.makeCompletedFuture {
                            let operations = channel.pipeline.syncOperations
                            // Without validation, so that a test can send an invalid head.
                            try operations.addHandler(
                                NIOHTTP2Handler(
                                    mode: .server, headerBlockValidation: .disabled,
                                    contentLengthValidation: .disabled))
                            try operations.addHandler(FrameHandler(peer: peer, heads: heads, answer: answer))
                        }
                    } http1ChannelConfigurator: { channel in
                        guard let http1 else { return channel.close() }
                        return channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.addHandler(HTTP1Handler(answer: http1, heads: heads))
                        }
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    deinit {
        channel.close(promise: nil)
    }

    var url: String { "https://127.0.0.1:\(channel.localAddress?.port ?? 0)" }
    var root: URL { server.root }
    var connectionCount: Int { heads.monitor.state.connectionCount }

    /// Waits until the heads of that many requests have arrived.
    func waitForHeads(_ count: Int) async throws {
        try await heads.monitor.wait { $0.count >= count }
    }

    /// Waits until clients have at most that many connections.
    func waitForOpenConnections(_ count: Int) async throws {
        try await heads.monitor.wait { $0.openCount <= count }
    }
}

private final class Heads: Sendable {
    struct State {
        var count = 0
        var connectionCount = 0
        var openCount = 0
    }

    let monitor = Monitor(State())

    func addConnection() -> Int {
        monitor.update { state in
            state.connectionCount += 1
            state.openCount += 1
            return state.connectionCount
        }
    }
}

private final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let peer: HTTP2Origin.Peer
    private let heads: Heads
    private let answer: HTTP2Origin.Answer

    init(peer: HTTP2Origin.Peer, heads: Heads, answer: @escaping HTTP2Origin.Answer) {
        self.peer = peer
        self.heads = heads
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard case .headers(let content) = frame.payload else { return }
        answer(content.headers.first(name: ":path") ?? "", frame.streamID, peer)
        heads.monitor.update { $0.count += 1 }
    }
}

/// Answers the head of the one request of an HTTP/1.1 connection, and ends the connection where only that ends the answer.
private final class HTTP1Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: String
    private let heads: Heads
    private var received = ""
    private var hasAnswered = false

    init(answer: String, heads: Heads) {
        self.answer = answer
        self.heads = heads
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasAnswered else { return }
        received += String(buffer: unwrapInboundIn(data))
        guard received.contains("\r\n\r\n") else { return }
        hasAnswered = true
        heads.monitor.update { $0.count += 1 }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        if !answer.contains("Content-Length"), !answer.contains("chunked") { context.close(promise: nil) }
    }
}

private final class EndHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let heads: Heads

    init(heads: Heads) {
        self.heads = heads
    }

    func channelInactive(context: ChannelHandlerContext) {
        heads.monitor.update { $0.openCount -= 1 }
        context.fireChannelInactive()
    }
}
#endif
#endif
