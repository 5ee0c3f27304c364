#if AsyncHTTPClient
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
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
        default: failure(error, stage)
        }
    }

    private static func failure(_ error: any Error, _ stage: TransportError.Stage) -> TransportError {
        let code = code(error, stage)
        let isUnsent = precedesSending.contains(code) || (error as? HTTPClientError)?.precedesSending ?? false
        return TransportError(code, at: stage == .head && isUnsent ? .connecting : stage, underlying: error)
    }

    private static let precedesSending: Set<TransportError.Code> = [
        .connectionRefused, .hostNotFound, .unreachable, .tls,
    ]

    private static func code(_ error: any Error, _ stage: TransportError.Stage) -> TransportError.Code {
        switch error {
        case let error as HTTPClientError: error.transportCode
        case let error as NIOConnectionError: code(error)
        case let error as IOError: code(errno: error.errnoCode)
        case let error as HTTPParserError: code(error, stage)
        case is SocketAddressError.UnknownHost: .hostNotFound
        case let error as ChannelError: code(error)
        case NIOSSLError.uncleanShutdown: stage == .body ? .truncated : .connectionLost
        // A secure connection fails before the request; later, all that can fail is the connection.
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: stage == .body ? .connectionLost : .tls
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
        default: .other
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
