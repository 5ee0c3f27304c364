#if AsyncHTTPClient
import Decorum
import Foundation
import NIOCore
import NIOEmbedded
import NIOHTTP1
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
#endif
