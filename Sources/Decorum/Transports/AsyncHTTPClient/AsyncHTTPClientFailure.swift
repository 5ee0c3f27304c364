#if AsyncHTTPClient
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// What an error of AsyncHTTPClient, or of SwiftNIO underneath, means.
enum AsyncHTTPClientFailure {
    static func error(for error: any Error, at stage: TransportError.Stage) -> any Error {
        switch error {
        case is CancellationError, is TransportError: error
        case let error as UnreadableContentError where error.underlying is CancellationError: error.underlying
        case let error as UnreadableContentError:
            TransportError(.unreadableBody, at: stage, underlying: error.underlying)
        case let error as HTTPClientError where error.isInvalidField: InvalidRequestError.field
        // An error that SwiftNIO tells of one stream among those of a connection.
        case let error as NIOHTTP2Errors.StreamError: Self.error(for: error.baseError, at: stage)
        default: failure(error, stage)
        }
    }

    private static func failure(_ error: any Error, _ stage: TransportError.Stage) -> TransportError {
        let stage = stage == .head && precedesSending(error) ? .connecting : stage
        return TransportError(code(error, stage), at: stage, underlying: error)
    }

    /// Whether the error is one of making a connection, and of nothing that comes later.
    ///
    /// The error alone tells, since AsyncHTTPClient does not say when it sends. Where the same error may also come from
    /// a connection that carries the request, it has to count as one that does.
    private static func precedesSending(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError: error.precedesSending
        case is NIOConnectionError, is SocketAddressError.UnknownHost: true
        // Descriptors are made for connections alone.
        case let error as IOError: [ECONNREFUSED, EMFILE, ENFILE].contains(error.errnoCode)
        // Not processed, and safe to send again (RFC 9113, section 8.7).
        case let error as NIOHTTP2Errors.StreamClosed: error.errorCode == .refusedStream
        case is NIOHTTP2Errors.CreatedStreamAfterGoaway: true
        case let error as NIOSSLError: error.precedesSending
        case let error as NIOSSLExtraError: error.precedesSending
        case let error as BoringSSLError: error.precedesSending
        default: false
        }
    }

    private static func code(_ error: any Error, _ stage: TransportError.Stage) -> TransportError.Code {
        switch error {
        case let error as HTTPClientError: error.transportCode
        case let error as NIOConnectionError: code(error)
        case let error as IOError: code(errno: error.errnoCode)
        case let error as HTTPParserError: code(error, stage)
        case is SocketAddressError.UnknownHost: .hostNotFound
        case let error as ChannelError: code(error)
        case NIOSSLError.uncleanShutdown: stage == .body ? .truncated : .connectionLost
        // The end of the stream, and not that of the content.
        case let error as NIOHTTP2Errors.StreamClosed:
            stage == .body && error.errorCode == .noError ? .truncated : .connectionLost
        case is NIOHTTP2Errors.CreatedStreamAfterGoaway, is NIOHTTP2Errors.IOOnClosedConnection,
            is NIOHTTP2Errors.NoSuchStream:
            .connectionLost
        case is any NIOHTTP2Error: .malformedResponse
        // With TLS 1.3 a server that refuses the client's certificate says so after the request.
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: stage == .connecting ? .tls : .connectionLost
        default: .other
        }
    }

    private static func code(_ error: NIOConnectionError) -> TransportError.Code {
        let codes = error.connectionErrors.map { code($0.error, .head) }
        guard let first = codes.first else { return .hostNotFound }
        return codes.first { $0 != .other } ?? first
    }

    private static func code(errno: CInt) -> TransportError.Code {
        switch errno {
        case ECONNREFUSED: .connectionRefused
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL: .unreachable
        case ETIMEDOUT: .timedOut
        case ECONNRESET, ECONNABORTED, EPIPE, ENOTCONN: .connectionLost
        case EMFILE, ENFILE: .limitExceeded
        default: .other
        }
    }

    private static func code(_ error: HTTPParserError, _ stage: TransportError.Stage) -> TransportError.Code {
        guard error == .invalidEOFState else { return .malformedResponse }
        return stage == .body ? .truncated : .connectionLost
    }

    private static func code(_ error: ChannelError) -> TransportError.Code {
        switch error {
        case .connectTimeout: .timedOut
        case .ioOnClosedChannel, .alreadyClosed, .outputClosed, .inputClosed, .eof: .connectionLost
        case .writeHostUnreachable: .unreachable
        default: .other
        }
    }
}

extension HTTPClientError {
    fileprivate var isInvalidField: Bool {
        // Not by comparison: these two carry the names and the values, which may be secret.
        shortDescription == HTTPClientError.invalidHeaderFieldNames([]).shortDescription
            || shortDescription == HTTPClientError.invalidHeaderFieldValues([]).shortDescription
    }

    fileprivate var precedesSending: Bool {
        let early: [HTTPClientError] = [
            .alreadyShutdown, .connectTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout,
            .socksHandshakeTimeout, .getConnectionFromPoolTimeout, .invalidProxyResponse, .proxyAuthenticationRequired,
        ]
        return early.contains(self)
    }

    fileprivate var transportCode: TransportError.Code {
        switch self {
        case .connectTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout, .socksHandshakeTimeout,
            .getConnectionFromPoolTimeout, .readTimeout, .writeTimeout, .deadlineExceeded:
            .timedOut
        // Cancelled: the client was shut down while the request was under way.
        case .remoteConnectionClosed, .cancelled, .uncleanShutdown: .connectionLost
        case .alreadyShutdown: .closed
        case .proxyAuthenticationRequired, .invalidProxyResponse: .proxyRefused
        default: .other
        }
    }
}

extension NIOSSLError {
    fileprivate var precedesSending: Bool {
        switch self {
        case .shutdownFailed, .readInInvalidTLSState, .uncleanShutdown: false
        default: true
        }
    }
}

extension NIOSSLExtraError {
    fileprivate var precedesSending: Bool {
        let early: [NIOSSLExtraError] = [
            .failedToValidateHostname, .serverHostnameImpossibleToMatch, .cannotUseIPAddressInSNI, .invalidSNIHostname,
            .unknownPrivateKeyFileType,
        ]
        return early.contains(self)
    }
}

extension BoringSSLError {
    fileprivate var precedesSending: Bool {
        switch self {
        // What a configuration is refused with; a handshake's are within NIOSSLError.handshakeFailed.
        case .unknownError, .invalidSNIName, .failedToSetALPN: true
        default: false
        }
    }
}

extension InvalidRequestError {
    fileprivate static let field = Self(
        .invalidField, "A field's name is not a token, or its value has a control character.")
}

/// A client that has followed a redirection, which is the business of a layer.
struct RedirectingClientError: Error, CustomStringConvertible {
    var description: String {
        "The HTTPClient follows redirections; make it from AsyncHTTPClientConnection.configuration()."
    }
}
#endif
