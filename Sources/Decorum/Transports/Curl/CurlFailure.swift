#if os(Linux)
import Foundation

/// What a failed transfer means.
struct CurlFailure: Sendable {
    let code: Int32
    /// How far the exchange had come.
    let stage: TransportError.Stage
    /// What the system said of the socket; 0 for nothing.
    var systemError: Int32 = 0
    /// The status with which a proxy refused to connect; 0 for none.
    var proxyStatus = 0
    /// Whether the system had no descriptor or memory for a socket.
    var lacksSockets = false
    /// What libcurl says in detail; only looked at.
    var detail = ""

    /// The cause, as precise as libcurl tells it.
    var cause: TransportError.Code {
        if stage == .connecting, lacksSockets { return .limitExceeded }
        return switch code {
        case 5, 6: .hostNotFound
        case 7: connectingCause
        case 97: .unreachable
        case 28: .timedOut
        case 18: .truncated
        // Before the head, libcurl takes what is not HTTP for another protocol, and a line that is too long for too much.
        case 1, 8, 27, 100: stage == .connecting ? .other : .malformedResponse
        case 16: .malformedResponse
        // nghttp2 resets a stream that it refuses with an error of the protocol (RFC 9113, section 8.1.1).
        case 92: stage == .head && detail.contains("PROTOCOL_ERROR") ? .malformedResponse : .connectionLost
        case 52, 65, 95: .connectionLost
        // 43 stands for the wrong use of a function; a head that starts with a folded line leads to one.
        case 43: stage == .connecting ? .other : .malformedResponse
        // Only the text tells broken chunks from a broken connection.
        case 23, 55, 56: detail.contains("chunk") ? .malformedResponse : brokenCause
        case 61: .undecodableContent
        case 89: .limitExceeded
        case 35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98: .tls
        default: .other
        }
    }

    private var connectingCause: TransportError.Code {
        switch systemError {
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL, EACCES, EPERM: .unreachable
        case ETIMEDOUT: .timedOut
        default: .connectionRefused
        }
    }

    private var brokenCause: TransportError.Code {
        stage == .connecting && proxyStatus >= 300 ? .proxyRefused : .connectionLost
    }

    /// The error to throw.
    func error(underlying: CurlError) -> any Error {
        // libcurl parses more of a URL than was checked.
        guard code != 3 else { return InvalidRequestError.invalidURL }
        return TransportError(cause, at: stage, underlying: underlying)
    }
}
#endif
