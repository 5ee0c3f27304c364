#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL

/// Sends no request on a used HTTP/1.1 connection on which bytes of the server wait, or its end; and tells of a request
/// whose used connection has ended without a byte of its response.
///
/// Bytes that no request has asked for must not become the response to the next one (RFC 9112, section 6.3). AsyncHTTPClient
/// closes such a connection, but only once SwiftNIO has read the bytes, and it may send a request before that. The request
/// then fails, at the stage of connecting, since nothing of it was sent. With TLS nothing is looked for on the socket,
/// since the records that wait there may belong to TLS itself.
final class HTTP1ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private static let refusal = {
        var refusal = TransportError(.connectionLost, at: .connecting)
        refusal.isUnprocessed = true
        return refusal
    }()

    private let looksAtSocket: Bool
    private var hasSent = false
    /// Whether a request was sent after others, and no byte of its response has arrived.
    private var awaitsFirstByte = false
    private var isRefusing = false
    private var hasReported = false

    init(looksAtSocket: Bool) {
        self.looksAtSocket = looksAtSocket
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .head = unwrapOutboundIn(data) {
            if looksAtSocket, hasSent, isReadable(context) { refuse(context) }
            awaitsFirstByte = hasSent
            hasSent = true
        }
        guard !isRefusing else {
            promise?.fail(Self.refusal)
            return
        }
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        awaitsFirstByte = false
        if !isRefusing { context.fireChannelRead(data) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if isRefusing {
            report(context)
        } else if awaitsFirstByte {
            reportLoss(context, underlying: nil)
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard awaitsFirstByte, !isRefusing, isLoss(error) else {
            context.fireErrorCaught(error)
            return
        }
        reportLoss(context, underlying: error)
    }

    private func isLoss(_ error: any Error) -> Bool {
        if let error = error as? NIOSSLError, case .uncleanShutdown = error { return true }
        return error is IOError
    }

    private func reportLoss(_ context: ChannelHandlerContext, underlying: (any Error)?) {
        awaitsFirstByte = false
        var loss = TransportError(.connectionLost, at: .head, underlying: underlying)
        loss.hasLostReusedConnection = true
        context.fireErrorCaught(loss)
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
    /// Returns a configuration whose client counts its HTTP/1.1 connections, and checks them when it uses them again.
    func checkingConnections(countedAmong connections: HTTP2Connections) -> HTTPClient.Configuration {
        var configuration = self
        let initializer = http1_1ConnectionDebugInitializer
        configuration.http1_1ConnectionDebugInitializer = { channel in
            connections.count(channel)
            let isReady = channel.eventLoop.makeCompletedFuture {
                let operations = channel.pipeline.syncOperations
                let isSecure = (try? operations.handler(type: NIOSSLClientHandler.self)) != nil
                let encoder = try operations.handler(type: HTTPRequestEncoder.self)
                try operations.addHandler(HTTP1ConnectionHandler(looksAtSocket: !isSecure), position: .after(encoder))
            }
            guard let initializer else { return isReady }
            return isReady.flatMap { initializer(channel) }
        }
        return configuration
    }
}
#endif
