#if AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Ends a stream of HTTP/2 with its response, and tells why a stream ended before.
///
/// AsyncHTTPClient forgets a request once its response has ended. It traps at whatever happens to the stream from then
/// on, which is a matter of course where the server has answered before it had all of the content.
final class HTTP2StreamHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private var hasSentAll = false
    private var hasReceivedHead = false
    private var hasReceivedAll = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { hasSentAll = true }
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasReceivedHead = true
        if case .end = unwrapInboundIn(data) { hasReceivedAll = true }
        context.fireChannelRead(data)
        // The rest of the content is not sent any more.
        if hasReceivedAll, !hasSentAll { context.close(promise: nil) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if !hasReceivedAll { context.fireChannelWritabilityChanged() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !hasReceivedAll else { return }
        context.fireErrorCaught(cause(of: error, context))
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !hasReceivedAll { context.fireChannelInactive() }
    }

    /// The error as it was meant.
    ///
    /// SwiftNIO tells a stream that it was cancelled where GOAWAY excludes it, and that it was
    /// reset where SwiftNIO itself has done so, since what came breaks the rules.
    private func cause(of error: any Error, _ context: ChannelHandlerContext) -> any Error {
        guard var closed = error as? NIOHTTP2Errors.StreamClosed, let connection = connection(context) else {
            return error
        }
        if let last = connection.lastStream, closed.streamID > last {
            closed.errorCode = .refusedStream
            return closed
        }
        guard closed.errorCode != .cancel, closed.streamID != connection.resetStream else { return closed }
        return TransportError(.malformedResponse, at: hasReceivedHead ? .body : .head, underlying: closed)
    }

    private func connection(_ context: ChannelHandlerContext) -> HTTP2ConnectionHandler? {
        // The handlers of a stream and those of its connection are on one event loop.
        try? context.channel.parent?.pipeline.syncOperations.handler(type: HTTP2ConnectionHandler.self)
    }
}
#endif
