#if AsyncHTTPClient
import Decorum
import DecorumTesting
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import Testing

@testable import DecorumAsyncHTTPClient

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

    @Test func `The end of a new connection, of an idle one, and within a response are none`() throws {
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
