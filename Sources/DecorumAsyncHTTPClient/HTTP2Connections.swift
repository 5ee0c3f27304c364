#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOHTTP2
import Synchronization

/// The HTTP/2 connections of one client, which are taken out of use when nothing more is received on them.
///
/// After a timeout, AsyncHTTPClient ends the stream and sends later requests on the same connection, even a dead one.
final class HTTP2Connections: Sendable {
    private struct Activity {
        let channel: any Channel
        var authorities: Set<String> = []
        var lastReceived: ContinuousClock.Instant
        var openStreams = 0

        init(_ channel: any Channel, since now: ContinuousClock.Instant) {
            self.channel = channel
            lastReceived = now
        }
    }

    /// The number of connections of the client that are open, over HTTP/1.1 too.
    let openConnections = Atomic(0)
    private let clock: any DatedClock
    private let activities = NIOLockedValueBox<[ObjectIdentifier: Activity]>([:])

    init(clock: any DatedClock) {
        self.clock = clock
    }

    /// Returns a configuration whose client adds its HTTP/2 connections to these.
    func observing(_ configuration: HTTPClient.Configuration) -> HTTPClient.Configuration {
        var configuration = configuration
        let connectionInitializer = configuration.http2ConnectionDebugInitializer
        configuration.http2ConnectionDebugInitializer = { channel in
            self.count(channel)
            let isReady = channel.eventLoop.makeCompletedFuture {
                let operations = channel.pipeline.syncOperations
                let codec = try operations.handler(type: NIOHTTP2Handler.self)
                try operations.addHandler(HTTP2ConnectionHandler(self, channel), position: .after(codec))
            }
            guard let connectionInitializer else { return isReady }
            return isReady.flatMap { connectionInitializer(channel) }
        }
        let streamInitializer = configuration.http2StreamChannelDebugInitializer
        configuration.http2StreamChannelDebugInitializer = { channel in
            let isReady = channel.eventLoop.makeCompletedFuture {
                let operations = channel.pipeline.syncOperations
                let codec = try operations.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
                let stream = HTTP2StreamHandler()
                try operations.addHandler(stream, position: .after(codec))
                try operations.addHandler(HTTP2StreamEventFilter(of: stream), position: .last)
            }
            guard let streamInitializer else { return isReady }
            return isReady.flatMap { streamInitializer(channel) }
        }
        return configuration
    }

    /// Counts a connection until it is closed.
    func count(_ channel: any Channel) {
        openConnections.add(1, ordering: .relaxed)
        channel.closeFuture.whenComplete { _ in self.openConnections.subtract(1, ordering: .relaxed) }
    }

    func add(_ channel: any Channel) {
        let now = clock.now
        activities.withLockedValue { $0[ObjectIdentifier(channel)] = Activity(channel, since: now) }
    }

    func remove(_ channel: any Channel) {
        _ = activities.withLockedValue { $0.removeValue(forKey: ObjectIdentifier(channel)) }
    }

    /// Records that a request for an authority is sent on a connection.
    func add(authority: String, of channel: any Channel) {
        _ = activities.withLockedValue { $0[ObjectIdentifier(channel)]?.authorities.insert(authority) }
    }

    func received(on channel: any Channel) {
        let now = clock.now
        activities.withLockedValue { $0[ObjectIdentifier(channel)]?.lastReceived = now }
    }

    func countStreams(on channel: any Channel, by number: Int) {
        activities.withLockedValue { $0[ObjectIdentifier(channel)]?.openStreams += number }
    }

    /// Takes the silent connections to one authority out of use, and then calls `completion`, maybe on an event loop.
    ///
    /// A connection is silent when a stream is open on it and nothing was received for `duration`. The streams that are
    /// open go on, because each has its own idle timeout.
    func retire(
        servingAuthority authority: String, silentFor duration: Duration,
        then completion: @escaping @Sendable () -> Void
    ) {
        let latest = clock.now.advanced(by: .zero - duration)
        let channels = activities.withLockedValue { activities in
            activities.values.filter { activity in
                activity.openStreams > 0 && activity.lastReceived <= latest && activity.authorities.contains(authority)
            }.map(\.channel)
        }
        guard !channels.isEmpty else {
            completion()
            return
        }
        let remaining = NIOLockedValueBox(channels.count)
        for channel in channels {
            channel.eventLoop.execute {
                channel.pipeline.fireUserInboundEventTriggered(HTTP2ConnectionHandler.Retirement())
                let isLast = remaining.withLockedValue { remaining in
                    remaining -= 1
                    return remaining == 0
                }
                if isLast { completion() }
            }
        }
    }
}

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
        // The handlers of a stream and of its connection are on one event loop.
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
