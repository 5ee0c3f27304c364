#if AsyncHTTPClient
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import DecorumAsyncHTTPClient

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
