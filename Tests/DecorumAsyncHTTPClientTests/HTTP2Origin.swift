#if AsyncHTTPClient
import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL

@testable import DecorumTesting

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
