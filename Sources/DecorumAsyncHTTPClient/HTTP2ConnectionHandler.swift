#if AsyncHTTPClient
import NIOCore
import NIOHTTP2

/// Reports the events of one HTTP/2 connection, and keeps what the server has said of its streams.
final class HTTP2ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame

    /// The event after which no new stream is opened on the connection.
    struct Retirement: Sendable {}

    /// The last stream that the server processes, once it has said so with GOAWAY.
    private(set) var lastStream: HTTP2StreamID?
    /// The last stream that the server has reset.
    private(set) var resetStream: HTTP2StreamID?
    private var authorities: Set<String> = []
    private var hasReported = false
    private let connections: HTTP2Connections
    private let channel: any Channel

    init(_ connections: HTTP2Connections, _ channel: any Channel) {
        self.connections = connections
        self.channel = channel
    }

    /// Records the authority that a request on the connection is for.
    func sends(toAuthority authority: String) {
        if authorities.insert(authority).inserted { connections.add(authority: authority, of: channel) }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connections.add(channel)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        connections.remove(channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Once for all frames that were read together, and before a stream hears of its frame.
        if !hasReported { connections.received(on: channel) }
        hasReported = true
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .goAway(let stream, _, _): lastStream = min(lastStream ?? .maxID, stream)
        case .rstStream: resetStream = frame.streamID
        default: break
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        hasReported = false
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is NIOHTTP2StreamCreatedEvent: connections.countStreams(on: channel, by: 1)
        case is StreamClosedEvent: connections.countStreams(on: channel, by: -1)
        case is Retirement:
            // Only after a GOAWAY does AsyncHTTPClient make another connection and let this one finish its streams.
            let frame = HTTP2Frame(
                streamID: .rootStream, payload: .goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil))
            context.fireChannelRead(wrapInboundOut(frame))
            return
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }
}
#endif
