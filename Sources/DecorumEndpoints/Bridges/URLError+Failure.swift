import Decorum
public import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLError {
    /// Creates the error of Foundation's that comes nearest to an error of a connection, for code that knows no other.
    ///
    /// A `TransportError` has a code of its own for each cause, such as `.timedOut` for a deadline, and a
    /// cancelled task is `.cancelled`. Where Foundation has no code for an error, it is `.unknown`. The error itself is the
    /// `NSUnderlyingErrorKey` of the user information.
    ///
    /// - Parameters:
    ///   - error: The error that a connection, or the reading of a body, has thrown.
    ///   - url: The URL of the request, which Foundation puts into its errors; nil to leave it out.
    public init(_ error: any Error, url: URL? = nil) {
        var information: [String: Any] = [NSUnderlyingErrorKey: error]
        if let url { information[NSURLErrorFailingURLErrorKey] = url }
        if let text = (error as? TransportError)?.description { information[NSLocalizedDescriptionKey] = text }
        self.init(Self.code(for: error), userInfo: information)
    }

    private static func code(for error: any Error) -> Code {
        switch error {
        case is CancellationError: .cancelled
        case let error as URLError: error.code
        case let error as TransportError: Self.code(for: error)
        case is BodyLimitError: .dataLengthExceedsMaximum
        case is InvalidRequestError: .badURL
        default: .unknown
        }
    }

    private static func code(for error: TransportError) -> Code {
        if error.isTimeout { return .timedOut }
        return switch error.code {
        case .hostNotFound: .cannotFindHost
        case .connectionRefused, .proxyRefused: .cannotConnectToHost
        case .unreachable: .notConnectedToInternet
        case .connectionLost, .truncated: .networkConnectionLost
        case .malformedResponse, .expectationFailed: .badServerResponse
        case .tls: code(for: error.tlsProblem)
        case .undecodableContent: .cannotDecodeContentData
        case .unreadableBody: .requestBodyStreamExhausted
        case .limitExceeded: .dataLengthExceedsMaximum
        default: .unknown
        }
    }

    private static func code(for problem: TransportError.TLSProblem?) -> Code {
        switch problem {
        case .expired: .serverCertificateHasBadDate
        case .notYetValid: .serverCertificateNotYetValid
        case .untrusted: .serverCertificateHasUnknownRoot
        case .wrongName, .unverified, .wrongKey: .serverCertificateUntrusted
        case .required: .appTransportSecurityRequiresSecureConnection
        default: .secureConnectionFailed
        }
    }
}
