#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL

/// Sends no request on a used HTTP/1.1 connection on which bytes of the server wait, or its end.
///
/// Bytes that no request has asked for must not become the response to the next one (RFC 9112, section 6.3). AsyncHTTPClient
/// closes such a connection, but only once SwiftNIO has read the bytes, and it may send a request before that. The request
/// then fails, at the stage of connecting, since nothing of it was sent. With TLS there is no handler of this type, since
/// records that wait on the socket may be those of TLS itself.
final class HTTP1ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private static let refusal = TransportError(.connectionLost, at: .connecting)

    private var hasSent = false
    private var isRefusing = false
    private var hasReported = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .head = unwrapOutboundIn(data) {
            if hasSent, isReadable(context) { refuse(context) }
            hasSent = true
        }
        guard !isRefusing else {
            promise?.fail(Self.refusal)
            return
        }
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isRefusing { context.fireChannelRead(data) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isRefusing { report(context) }
        context.fireChannelInactive()
    }

    private func isReadable(_ context: ChannelHandlerContext) -> Bool {
        let isReadable = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { socket in
            var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            return unsafe poll(&descriptor, 1, 0) > 0
        }
        return isReadable ?? false
    }

    private func refuse(_ context: ChannelHandlerContext) {
        isRefusing = true
        // Later, since AsyncHTTPClient is in the middle of sending.
        context.eventLoop.assumeIsolated().execute {
            self.report(context)
            context.close(promise: nil)
        }
    }

    private func report(_ context: ChannelHandlerContext) {
        guard !hasReported else { return }
        hasReported = true
        context.fireErrorCaught(Self.refusal)
    }
}

extension HTTPClient.Configuration {
    /// Returns a configuration whose client checks its HTTP/1.1 connections without TLS before it uses them again.
    func checkingConnections() -> HTTPClient.Configuration {
        var configuration = self
        let initializer = http1_1ConnectionDebugInitializer
        configuration.http1_1ConnectionDebugInitializer = { channel in
            let isReady = channel.eventLoop.makeCompletedFuture {
                let operations = channel.pipeline.syncOperations
                guard (try? operations.handler(type: NIOSSLClientHandler.self)) == nil else { return }
                let encoder = try operations.handler(type: HTTPRequestEncoder.self)
                try operations.addHandler(HTTP1ConnectionHandler(), position: .after(encoder))
            }
            guard let initializer else { return isReady }
            return isReady.flatMap { initializer(channel) }
        }
        return configuration
    }
}
#endif
