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
    static let rows:
        [(error: any Error, stage: TransportError.Stage, code: TransportError.Code, expected: TransportError.Stage)] = [
            (HTTPClientError.connectTimeout, .head, .timedOut, .connecting),
            (HTTPClientError.tlsHandshakeTimeout, .head, .timedOut, .connecting),
            (HTTPClientError.getConnectionFromPoolTimeout, .head, .timedOut, .connecting),
            (HTTPClientError.deadlineExceeded, .head, .timedOut, .head),
            (HTTPClientError.readTimeout, .head, .timedOut, .head),
            (HTTPClientError.readTimeout, .body, .timedOut, .body),
            (HTTPClientError.writeTimeout, .head, .timedOut, .head),
            (HTTPClientError.remoteConnectionClosed, .head, .connectionLost, .head),
            (HTTPClientError.remoteConnectionClosed, .body, .connectionLost, .body),
            (HTTPClientError.cancelled, .body, .connectionLost, .body),
            (HTTPClientError.alreadyShutdown, .head, .closed, .connecting),
            (HTTPClientError.proxyAuthenticationRequired, .head, .proxyRefused, .connecting),
            (HTTPClientError.invalidProxyResponse, .head, .proxyRefused, .connecting),
            (IOError(errnoCode: ECONNREFUSED, reason: "connect"), .head, .connectionRefused, .connecting),
            // The error may come from a connection that carries the request, as well as from one that could not be made.
            (IOError(errnoCode: ENETUNREACH, reason: "write"), .head, .unreachable, .head),
            (IOError(errnoCode: EHOSTUNREACH, reason: "read"), .head, .unreachable, .head),
            (IOError(errnoCode: ENETDOWN, reason: "read"), .body, .unreachable, .body),
            (ChannelError.writeHostUnreachable, .head, .unreachable, .head),
            (IOError(errnoCode: ECONNRESET, reason: "read"), .head, .connectionLost, .head),
            (IOError(errnoCode: EPIPE, reason: "write"), .head, .connectionLost, .head),
            (IOError(errnoCode: ECONNRESET, reason: "read"), .body, .connectionLost, .body),
            // A descriptor is only made for a connection.
            (IOError(errnoCode: EMFILE, reason: "socket"), .head, .limitExceeded, .connecting),
            (IOError(errnoCode: ENFILE, reason: "socket"), .head, .limitExceeded, .connecting),
            (NIOHTTP2Errors.streamClosed(streamID: 1, errorCode: .refusedStream), .head, .connectionLost, .connecting),
            (NIOHTTP2Errors.streamClosed(streamID: 1, errorCode: .cancel), .head, .connectionLost, .head),
            (NIOHTTP2Errors.streamClosed(streamID: 1, errorCode: .cancel), .body, .connectionLost, .body),
            (NIOHTTP2Errors.streamClosed(streamID: 1, errorCode: .noError), .body, .truncated, .body),
            (NIOHTTP2Errors.createdStreamAfterGoaway(), .head, .connectionLost, .connecting),
            (NIOHTTP2Errors.ioOnClosedConnection(), .head, .connectionLost, .head),
            (NIOHTTP2Errors.missingPseudoHeader(":status"), .head, .malformedResponse, .head),
            (
                NIOHTTP2Errors.streamError(streamID: 1, baseError: NIOHTTP2Errors.missingPseudoHeader(":status")),
                .head,
                .malformedResponse, .head
            ),
            (ChannelError.connectTimeout(.seconds(1)), .head, .timedOut, .head),
            (ChannelError.ioOnClosedChannel, .head, .connectionLost, .head),
            (ChannelError.operationUnsupported, .head, .other, .head),
            (HTTPParserError.invalidEOFState, .head, .connectionLost, .head),
            (HTTPParserError.invalidEOFState, .body, .truncated, .body),
            (HTTPParserError.invalidChunkSize, .body, .malformedResponse, .body),
            (HTTPParserError.headerOverflow, .head, .malformedResponse, .head),
            (NIOSSLError.handshakeFailed(.noError), .head, .tls, .connecting),
            (NIOSSLError.failedToLoadCertificate, .head, .tls, .connecting),
            (NIOSSLError.readInInvalidTLSState, .head, .connectionLost, .head),
            (NIOSSLError.shutdownFailed(.zeroReturn), .head, .connectionLost, .head),
            (NIOSSLError.uncleanShutdown, .head, .connectionLost, .head),
            (NIOSSLError.uncleanShutdown, .body, .truncated, .body),
            (NIOSSLExtraError.failedToValidateHostname, .head, .tls, .connecting),
            (NIOSSLExtraError.invalidSNIHostname, .head, .tls, .connecting),
            // A server refuses the client's certificate once the client has sent the request, as in TLS 1.3.
            (BoringSSLError.sslError([]), .head, .connectionLost, .head),
            (BoringSSLError.sslError([]), .body, .connectionLost, .body),
            (BoringSSLError.unknownError([]), .head, .tls, .connecting),
            (CocoaError(.fileReadUnknown), .head, .other, .head),
        ]

    @Test(arguments: rows)
    func `An error has its code and stage`(
        error: any Error, stage: TransportError.Stage, code: TransportError.Code, expected: TransportError.Stage
    ) throws {
        let failure = try #require(AsyncHTTPClientFailure.error(for: error, at: stage) as? TransportError)
        #expect(failure.code == code)
        #expect(failure.stage == expected)
        #expect(failure.underlying != nil)
    }

    @Test func `Cancellation is always CancellationError`() {
        #expect(AsyncHTTPClientFailure.error(for: CancellationError(), at: .head) is CancellationError)
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
