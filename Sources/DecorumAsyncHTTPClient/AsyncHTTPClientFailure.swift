#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// Converts errors of AsyncHTTPClient, and of SwiftNIO below it, to errors of transports.
enum AsyncHTTPClientFailure {
    static func error(for error: any Error, at stage: TransportError.Stage) -> any Error {
        switch error {
        case is CancellationError, is TransportError: error
        case let error as HTTPClientError where error.isInvalidField: InvalidRequestError.field
        // SwiftNIO wraps the error of one stream as an error of the connection.
        case let error as NIOHTTP2Errors.StreamError: Self.error(for: error.baseError, at: stage)
        default: failure(error, stage)
        }
    }

    private static func failure(_ error: any Error, _ stage: TransportError.Stage) -> TransportError {
        let stage = stage == .head && precedesSending(error) ? .connecting : stage
        var failure = TransportError(code(error, stage), at: stage, underlying: error)
        failure.isUnprocessed = stage == .connecting && isUnprocessed(error)
        switch failure.code {
        case .tls:
            failure.detail = words(of: error)
            failure.tlsProblem = failure.detail.flatMap { .init(words: $0) }
        case .malformedResponse where error is HTTPParserError: failure.detail = "\(error)"
        case .other: failure.detail = (error as? HTTPClientError)?.shortDescription
        default: break
        }
        return failure
    }

    /// The words of BoringSSL without its numbers and files, as in "certificate verify failed".
    private static func words(of error: any Error) -> String {
        let text = "\(error)"
        guard let start = text.range(of: "OPENSSL_internal:")?.upperBound else { return text }
        let name = text[start...].prefix { $0 == "_" || $0.isLetter || $0.isNumber }
        return name.lowercased().replacingOccurrences(of: "_", with: " ")
    }

    /// Whether the error can only come before the request is sent.
    ///
    /// The error alone decides, since AsyncHTTPClient does not say when it sends. An error that may also come from a
    /// connection that carries the request counts as one that does.
    private static func precedesSending(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError: error.precedesSending
        case is NIOConnectionError, is SocketAddressError.UnknownHost: true
        // Only making a connection needs a descriptor.
        case let error as IOError: [ECONNREFUSED, EMFILE, ENFILE].contains(error.errnoCode)
        case NIOSSLError.shutdownFailed, NIOSSLError.readInInvalidTLSState, NIOSSLError.uncleanShutdown: false
        case is NIOSSLError: true
        // These refuse a configuration; the errors of a handshake are within NIOSSLError.handshakeFailed.
        case BoringSSLError.unknownError, BoringSSLError.invalidSNIName, BoringSSLError.failedToSetALPN: true
        case let error as NIOSSLExtraError: error.precedesSending
        default: isUnprocessed(error)
        }
    }

    /// Whether the server has not processed the request, so that it is safe to send again (RFC 9113, section 8.7).
    ///
    /// The handler of a stream gives the same code to a stream above the last one of a `GOAWAY`.
    private static func isUnprocessed(_ error: any Error) -> Bool {
        switch error {
        case let error as NIOHTTP2Errors.StreamClosed: error.errorCode == .refusedStream
        case is NIOHTTP2Errors.CreatedStreamAfterGoaway: true
        default: false
        }
    }

    private static func code(_ error: any Error, _ stage: TransportError.Stage) -> TransportError.Code {
        switch error {
        case let error as HTTPClientError: error.transportCode
        case let error as NIOConnectionError: code(error)
        case let error as IOError: code(errno: error.errnoCode)
        case is SocketAddressError.UnknownHost: .hostNotFound
        case let error as ChannelError: code(error)
        case NIOSSLError.uncleanShutdown, HTTPParserError.invalidEOFState: stage == .body ? .truncated : .connectionLost
        case is HTTPParserError: .malformedResponse
        // The stream has ended, and the content has not.
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
        // These two carry names and values, which may be secret, so they are not compared as a whole.
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
        // With .cancelled, the client was shut down while the request was under way.
        case .remoteConnectionClosed, .cancelled, .uncleanShutdown: .connectionLost
        case .alreadyShutdown: .closed
        case .proxyAuthenticationRequired, .invalidProxyResponse: .proxyRefused
        default: .other
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

extension InvalidRequestError {
    fileprivate static let field = Self(
        .invalidField, "A field's name is not a token, or its value has a control character.")
}

/// The client has followed a redirection, which is for a layer to do.
struct RedirectingClientError: Error, CustomStringConvertible {
    var description: String {
        "The HTTPClient follows redirections; make it from AsyncHTTPClientConnection.configuration()."
    }
}
#endif
