import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Converts the errors of URLSession's tasks to those of transports.
///
/// On Linux many causes share one code, and only libcurl's English text distinguishes them. On Apple's systems the code is
/// the cause, and the text is in the user's language.
enum URLSessionFailure {
    /// Converts the error of a task; `isCut` tells whether the body has fewer bytes than its head has announced.
    static func error(for error: any Error, at stage: TransportError.Stage, isCut: Bool) -> any Error {
        guard let failure = error as? URLError else { return TransportError(.other, at: stage) }
        return Self.error(
            for: failure.code, failure.localizedDescription, at: stage, isCut: isCut,
            forbidding: URLSessionPlatform.forbiddenNetwork(failure))
    }

    static func error(
        for code: URLError.Code, _ text: String, at stage: TransportError.Stage, isCut: Bool = false,
        forbidding network: String? = nil, fromLibcurl: Bool = URLSessionPlatform.isBuiltOnLibcurl
    ) -> any Error {
        guard code != .cancelled else { return CancellationError() }
        // Linux has these codes for answers that are not HTTP.
        guard fromLibcurl || (code != .badURL && code != .unsupportedURL) else { return InvalidRequestError.invalidURL }
        // A new error without the URL, whose query may hold secrets. The words may quote the URL of a proxy.
        let words = text.contains("@") || text.contains("://") ? "URLError \(code.rawValue)" : text
        let underlying = URLError(code, userInfo: [NSLocalizedDescriptionKey: words])
        let special = fromLibcurl ? causeOnLinux(code) : causeOnApple(code, isCut: isCut)
        var cause = special ?? Self.cause(code) ?? (fromLibcurl ? Self.cause(text) : nil) ?? .other
        let neverSent =
            stage == .head && Self.precedesSending.contains(cause) && code != .requestBodyStreamExhausted
        if cause == .unreachable, URLSessionPlatform.isOutOfDescriptors { cause = .limitExceeded }
        var error = TransportError(cause, at: neverSent ? .connecting : stage, underlying: underlying)
        error.isUnprocessed = fromLibcurl && stage == .head && text.contains("REFUSED_STREAM")
        switch cause {
        case .tls:
            error.tlsProblem = Self.tlsProblem(code) ?? (fromLibcurl ? .init(words: text) : nil)
            error.detail = words
        // The words about a truncated response count the missing bytes.
        case .malformedResponse, .truncated: error.detail = words
        case .unreachable: error.detail = network
        // Words that are not known may hold a part of the request, or the password of a proxy.
        case .other: error.detail = "URLError \(code.rawValue)"
        default: break
        }
        return error
    }

    private static func tlsProblem(_ code: URLError.Code) -> TransportError.TLSProblem? {
        switch code {
        case .serverCertificateHasBadDate: .expired
        case .serverCertificateNotYetValid: .notYetValid
        case .serverCertificateHasUnknownRoot: .untrusted
        case .serverCertificateUntrusted: .unverified
        case .clientCertificateRejected, .clientCertificateRequired: .refused
        case .appTransportSecurityRequiresSecureConnection: .required
        default: nil
        }
    }

    private static let precedesSending: Set<TransportError.Code> = [
        .connectionRefused, .hostNotFound, .unreachable, .tls, .unreadableBody, .proxyRefused,
    ]

    private static func cause(_ code: URLError.Code) -> TransportError.Code? {
        switch code {
        case .cannotConnectToHost: .connectionRefused
        case .cannotFindHost, .dnsLookupFailed: .hostNotFound
        case .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed: .unreachable
        case .timedOut: .timedOut
        case .networkConnectionLost: .connectionLost
        case .cannotParseResponse: .malformedResponse
        case .cannotDecodeContentData, .cannotDecodeRawData: .undecodableContent
        case .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile: .unreadableBody
        case .dataLengthExceedsMaximum: .limitExceeded
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired:
            .tls
        default: nil
        }
    }

    private static func causeOnLinux(_ code: URLError.Code) -> TransportError.Code? {
        switch code {
        // The connection was closed before the first byte.
        case .badServerResponse: .connectionLost
        // The response does not start like HTTP. The scheme was checked before.
        case .unsupportedURL: .malformedResponse
        default: nil
        }
    }

    private static func causeOnApple(_ code: URLError.Code, isCut: Bool) -> TransportError.Code? {
        switch code {
        case .networkConnectionLost where isCut, .zeroByteResource: .truncated
        case .badServerResponse, .redirectToNonExistentLocation: .malformedResponse
        case .cannotLoadFromNetwork: .unreachable
        case .appTransportSecurityRequiresSecureConnection: .tls
        case .requestBodyStreamExhausted, .cannotOpenFile: .unreadableBody
        default: nil
        }
    }

    private static func cause(_ text: String) -> TransportError.Code? {
        causes.first { text.contains($0.phrase) }?.cause
    }

    // The first phrase that is found counts. A connection that breaks within TLS comes before the failures of a handshake,
    // since the request may have been sent on it.
    private static let causes: [(phrase: String, cause: TransportError.Code)] = [
        ("CONNECT tunnel failed", .proxyRefused),
        ("from proxy after CONNECT", .proxyRefused),
        ("Send failure", .connectionLost),
        ("Recv failure", .connectionLost),
        ("SSL_read", .connectionLost),
        ("SSL_write", .connectionLost),
        ("recv error", .connectionLost),
        ("send error", .connectionLost),
        ("transfer closed with", .truncated),
        ("end of response with", .truncated),
        ("content encoding", .undecodableContent),
        ("unencoding", .undecodableContent),
        // The other failures to make a socket or to connect it have codes of their own.
        ("Couldn't connect", .unreachable),
        ("SSL", .tls),
        ("certificate", .tls),
        ("TLS", .tls),
        ("chunk", .malformedResponse),
        ("Failed writing header", .malformedResponse),
        ("Header without colon", .malformedResponse),
        ("Content-Length", .malformedResponse),
        ("HTTP", .malformedResponse),
        ("Out of memory", .malformedResponse),
    ]
}
