#if AsyncHTTPClient
import Decorum
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Ends an HTTP/2 stream with its response, and finds the reason why a stream ended before.
///
/// AsyncHTTPClient forgets a request once its response has ended, and traps at any later event of the stream. Such events
/// are normal where the server has answered before it had all of the content.
final class HTTP2StreamHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private var hasSentAll = false
    private var hasReceivedHead = false
    fileprivate var hasReceivedAll = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            if let authority = head.headers.first(name: "Host") {
                connection(context)?.sends(toAuthority: authority)
            }
        case .body: break
        case .end:
            // When it is written: the content may wait for the server's flow control until then.
            let promise = promise ?? context.eventLoop.makePromise()
            promise.futureResult.assumeIsolated().whenSuccess { self.hasSentAll = true }
            return context.write(data, promise: promise)
        }
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasReceivedHead = true
        if case .end = unwrapInboundIn(data) { hasReceivedAll = true }
        context.fireChannelRead(data)
        // The server needs no more of the content.
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

    /// Returns the error with the code that the server meant.
    ///
    /// SwiftNIO gives a stream that GOAWAY excludes the code CANCEL. It gives a stream that it has reset itself, since the
    /// response breaks the rules, the same error as one that the server has reset.
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

/// Keeps events that the client triggers on a stream from a request that has ended.
///
/// A client that shuts down asks each open stream to end. A stream is open for a moment after its response, and AsyncHTTPClient
/// traps there. It stands last in the pipeline, since such an event starts at the end.
final class HTTP2StreamEventFilter: ChannelOutboundHandler {
    typealias OutboundIn = Any

    private let stream: HTTP2StreamHandler

    init(of stream: HTTP2StreamHandler) {
        self.stream = stream
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard stream.hasReceivedAll else { return context.triggerUserOutboundEvent(event, promise: promise) }
        promise?.succeed()
    }
}
#endif
