#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import Testing

@testable import DecorumAsyncHTTPClient

/// The conversion of errors, as a table and against real sockets.
@Suite(.timeLimit(.minutes(3))) struct AsyncHTTPClientFailureTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let error: any Error
        let stage: TransportError.Stage
        let code: TransportError.Code
        let expectedStage: TransportError.Stage

        init(
            _ error: any Error, _ stage: TransportError.Stage, _ code: TransportError.Code,
            _ expectedStage: TransportError.Stage
        ) {
            self.error = error
            self.stage = stage
            self.code = code
            self.expectedStage = expectedStage
        }

        var testDescription: String { "\(error) at \(stage)" }
    }

    static let rows: [Row] = [
        Row(HTTPClientError.connectTimeout, .head, .timedOut, .connecting),
        Row(HTTPClientError.tlsHandshakeTimeout, .head, .timedOut, .connecting),
        Row(HTTPClientError.getConnectionFromPoolTimeout, .head, .timedOut, .connecting),
        Row(HTTPClientError.deadlineExceeded, .head, .timedOut, .head),
        Row(HTTPClientError.readTimeout, .head, .timedOut, .head),
        Row(HTTPClientError.readTimeout, .body, .timedOut, .body),
        Row(HTTPClientError.writeTimeout, .head, .timedOut, .head),
        Row(HTTPClientError.remoteConnectionClosed, .head, .connectionLost, .head),
        Row(HTTPClientError.remoteConnectionClosed, .body, .connectionLost, .body),
        Row(HTTPClientError.cancelled, .body, .connectionLost, .body),
        Row(HTTPClientError.alreadyShutdown, .head, .closed, .connecting),
        Row(HTTPClientError.proxyAuthenticationRequired, .head, .proxyRefused, .connecting),
        Row(HTTPClientError.invalidProxyResponse, .head, .proxyRefused, .connecting),
        Row(IOError(errnoCode: ECONNREFUSED, reason: "connect"), .head, .connectionRefused, .connecting),
        // The error may come from a connection that carries the request, as well as from one that could not be made.
        Row(IOError(errnoCode: ENETUNREACH, reason: "write"), .head, .unreachable, .head),
        Row(IOError(errnoCode: EHOSTUNREACH, reason: "read"), .head, .unreachable, .head),
        Row(IOError(errnoCode: ENETDOWN, reason: "read"), .body, .unreachable, .body),
        Row(ChannelError.writeHostUnreachable, .head, .unreachable, .head),
        Row(IOError(errnoCode: ECONNRESET, reason: "read"), .head, .connectionLost, .head),
        Row(IOError(errnoCode: EPIPE, reason: "write"), .head, .connectionLost, .head),
        Row(IOError(errnoCode: ECONNRESET, reason: "read"), .body, .connectionLost, .body),
        // A descriptor is only made for a connection.
        Row(IOError(errnoCode: EMFILE, reason: "socket"), .head, .limitExceeded, .connecting),
        Row(IOError(errnoCode: ENFILE, reason: "socket"), .head, .limitExceeded, .connecting),
        Row(NIOHTTP2Errors.streamClosed(streamID: 1, errorCode: .refusedStream), .head, .connectionLost, .connecting),
        Row(NIOHTTP2Errors.streamClosed(streamID: 1, errorCode: .cancel), .head, .connectionLost, .head),
        Row(NIOHTTP2Errors.streamClosed(streamID: 1, errorCode: .cancel), .body, .connectionLost, .body),
        Row(NIOHTTP2Errors.streamClosed(streamID: 1, errorCode: .noError), .body, .truncated, .body),
        Row(NIOHTTP2Errors.createdStreamAfterGoaway(), .head, .connectionLost, .connecting),
        Row(NIOHTTP2Errors.ioOnClosedConnection(), .head, .connectionLost, .head),
        Row(NIOHTTP2Errors.missingPseudoHeader(":status"), .head, .malformedResponse, .head),
        Row(
            NIOHTTP2Errors.streamError(streamID: 1, baseError: NIOHTTP2Errors.missingPseudoHeader(":status")), .head,
            .malformedResponse, .head),
        Row(ChannelError.connectTimeout(.seconds(1)), .head, .timedOut, .head),
        Row(ChannelError.ioOnClosedChannel, .head, .connectionLost, .head),
        Row(ChannelError.operationUnsupported, .head, .other, .head),
        Row(HTTPParserError.invalidEOFState, .head, .connectionLost, .head),
        Row(HTTPParserError.invalidEOFState, .body, .truncated, .body),
        Row(HTTPParserError.invalidChunkSize, .body, .malformedResponse, .body),
        Row(HTTPParserError.headerOverflow, .head, .malformedResponse, .head),
        Row(NIOSSLError.handshakeFailed(.noError), .head, .tls, .connecting),
        Row(NIOSSLError.failedToLoadCertificate, .head, .tls, .connecting),
        Row(NIOSSLError.readInInvalidTLSState, .head, .connectionLost, .head),
        Row(NIOSSLError.shutdownFailed(.zeroReturn), .head, .connectionLost, .head),
        Row(NIOSSLError.uncleanShutdown, .head, .connectionLost, .head),
        Row(NIOSSLError.uncleanShutdown, .body, .truncated, .body),
        Row(NIOSSLExtraError.failedToValidateHostname, .head, .tls, .connecting),
        Row(NIOSSLExtraError.invalidSNIHostname, .head, .tls, .connecting),
        // A server refuses the client's certificate once the client has sent the request, as in TLS 1.3.
        Row(BoringSSLError.sslError([]), .head, .connectionLost, .head),
        Row(BoringSSLError.sslError([]), .body, .connectionLost, .body),
        Row(BoringSSLError.unknownError([]), .head, .tls, .connecting),
        Row(UnreadableContentError(underlying: BodyLengthError()), .head, .unreadableBody, .head),
        Row(CocoaError(.fileReadUnknown), .head, .other, .head),
    ]

    @Test(arguments: rows)
    func `An error has its code and stage`(row: Row) throws {
        let error = AsyncHTTPClientFailure.error(for: row.error, at: row.stage)

        let failure = try #require(error as? TransportError)
        #expect(failure.code == row.code)
        #expect(failure.stage == row.expectedStage)
        #expect(failure.underlying != nil)
    }

    @Test(arguments: [CancellationError(), UnreadableContentError(underlying: CancellationError())] as [any Error])
    func `Cancellation is always CancellationError`(error: any Error) {
        #expect(AsyncHTTPClientFailure.error(for: error, at: .head) is CancellationError)
    }

    @Test(arguments: [
        HTTPClientError.invalidHeaderFieldValues(["Bearer secret"]), .invalidHeaderFieldNames(["secret"]),
    ])
    func `The description of a refused field does not show it`(error: HTTPClientError) {
        let error = AsyncHTTPClientFailure.error(for: error, at: .head)
        #expect((error as? InvalidRequestError)?.reason == .invalidField)
        #expect(!String(reflecting: error).contains("secret"))
    }

    @Test(arguments: ["407 Proxy Authentication Required", "403 Forbidden", "502 Bad Gateway"])
    func `A proxy that refuses to connect fails at the stage of connecting`(status: String) async throws {
        let proxy = try LoopbackOrigin()
        proxy.route(nil, "*", .script(.raw("HTTP/1.1 \(status)\r\nContent-Length: 2\r\n\r\nno")))
        var configuration = AsyncHTTPClientConnection.configuration()
        configuration.proxy = .server(host: "127.0.0.1", port: proxy.port)

        let error = await #expect(throws: TransportError.self) {
            try await AsyncHTTPClientConnection(configuration: configuration).send(.get("https://decorum.invalid/"))
        }
        #expect(error?.code == .proxyRefused)
        #expect(error?.stage == .connecting)
    }
}
#endif
