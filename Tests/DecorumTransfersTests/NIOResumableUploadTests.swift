#if AsyncHTTPClient && (os(macOS) || os(Linux))
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import NIOResumableUpload
import Testing

@testable import DecorumTransfers

/// The server of swift-nio-extras, which speaks version 6 of the draft.
@Suite(.timeLimit(.minutes(3))) struct NIOResumableUploadTests {
    /// Collects the content of an upload, which may come in several requests.
    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = HTTPRequestPart
        typealias OutboundOut = HTTPResponsePart

        private let arrivals: AsyncStream<Data>.Continuation
        private var content = Data()

        init(_ arrivals: AsyncStream<Data>.Continuation) { self.arrivals = arrivals }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let part = unwrapInboundIn(data)
            if case .body(let chunk) = part { content += Data(chunk.readableBytesView) }
            guard case .end = part else { return }
            arrivals.yield(content)
            let head = HTTPResponse(status: .ok, headerFields: [.contentLength: "0"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    @Test func `It gets each byte once, whatever breaks off`() async throws {
        let uploads = HTTPResumableUploadContext(origin: "")
        let (contents, arrivals) = AsyncStream<Data>.makeStream()
        // One event loop: the server loses answers where the requests of one upload come on several.
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton.next())
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    let resumable = HTTPResumableUploadHandler(context: uploads) { channel in
                        try? channel.pipeline.syncOperations.addHandler(Collector(arrivals))
                    }
                    try channel.pipeline.syncOperations.addHandlers([HTTP1ToHTTPServerCodec(secure: false), resumable])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let (six, connection) = (ResumableUpload(interopVersion: 6), SystemConnection())
        let request = try Request.post("http://127.0.0.1:\(server.localAddress?.port ?? 0)/files")
        var content = contents.makeAsyncIterator()
        for seed in 0..<10 {
            let bytes = BytePattern.bytes(seed * 100_003)
            // The server forgets an upload once it has all of it, so that nobody could tell what a lost answer said.
            _ = try await connection.uploadThroughBreaks(
                Body(bytes), to: request, by: six, seed: UInt64(seed), losingAnswers: false)
            #expect(await content.next() == bytes, "\(seed)")
        }
        try await server.close()
    }
}
#endif
