import Foundation
import HTTPTypes
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLRequest {
    /// Converts the head of a request, which was validated.
    init(_ head: HTTPRequest) throws(InvalidRequestError) {
        let path = head.path ?? "/"
        guard path.hasPrefix("/") else {
            throw InvalidRequestError(
                .invalidPath,
                "URLSession cannot send a request for the server as a whole; the path is a slash at least.")
        }
        guard let scheme = head.scheme, let authority = head.authority, !path.utf8.contains(UInt8(ascii: "#")),
            let url = URL(string: "\(scheme)://\(authority)\(path)"), url.host != nil
        else { throw .invalidURL }
        try URLSessionPlatform.validate(url)

        self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: URLSessionOwner.noTimeout)
        httpMethod = head.method.rawValue
        httpShouldHandleCookies = false
        allHTTPHeaderFields = Self.values(of: head.headerFields)
    }

    /// The value of each field under its name as it is spelled, repeated ones joined.
    private static func values(of fields: HTTPFields) -> [String: String] {
        var joined: [HTTPField] = []
        // URLSession announces the content itself: a second, different announcement would let a request be smuggled past
        // a proxy (RFC 9112, section 6.3).
        for field in fields where field.name != .contentLength && field.name != .transferEncoding {
            guard let index = joined.firstIndex(where: { $0.name == field.name }) else {
                joined.append(field)
                continue
            }
            joined[index].value += (field.name == .cookie ? "; " : ", ") + field.value
        }
        var values = Dictionary(joined.map { ($0.name.rawName, $0.value) }) { first, _ in first }
        for name in URLSessionPlatform.automaticFields where !joined.contains(where: { $0.name == name }) {
            values[name.rawName] = URLSessionPlatform.absentField
        }
        return values
    }
}

extension HTTPResponse {
    // HTTPFields traps when there are more than fit, and a server can send that many cookies.
    private static let fieldLimit = 10_000

    /// Converts a head; nil if its status, the number of its fields or its lengths are invalid.
    ///
    /// The fields are sorted by name, since the platform does not keep their order.
    init?(_ response: HTTPURLResponse) {
        guard (100...999).contains(response.statusCode) else { return nil }
        var fields = HTTPFields()
        let named = response.allHeaderFields.compactMap { name, value -> HTTPField? in
            guard let name = (name as? String).flatMap({ HTTPField.Name($0) }), let value = value as? String else {
                return nil
            }
            return HTTPField(name: name, value: value)
        }
        guard named.count <= Self.fieldLimit else { return nil }
        for field in named.sorted(by: { $0.name.canonicalName < $1.name.canonicalName }) {
            guard field.name == .setCookie else {
                fields.append(field)
                continue
            }
            for cookie in SetCookieSplitting.split(field.value) {
                guard fields.count < Self.fieldLimit else { return nil }
                fields.append(HTTPField(name: .setCookie, value: cookie))
            }
        }
        guard !fields.isContentLengthAmbiguous else { return nil }
        self.init(status: Status(code: response.statusCode), headerFields: fields)
    }

    /// Removes the fields that describe the coded content, which the platform has decoded, and returns the codings.
    ///
    /// The codings are in the order in which they were undone, the reverse of that in which they were applied
    /// (RFC 9110, section 8.4).
    mutating func removeDecodedCodings() -> [String] {
        guard let value = headerFields[.contentEncoding] else { return [] }
        let codings = value.split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
        guard !codings.isEmpty, codings.allSatisfy(URLSessionPlatform.decodedCodings.contains) else { return [] }
        headerFields[.contentEncoding] = nil
        headerFields[.contentLength] = nil
        return codings.reversed()
    }
}

extension TaskPriority {
    /// The priority of a task of a session, from 0 to 1, where a task without a priority has 0.5.
    var ofURLSessionTask: Float {
        switch self {
        case .high...: URLSessionTask.highPriority
        case .medium...: URLSessionTask.defaultPriority
        case .low...: URLSessionTask.lowPriority
        default: URLSessionTask.lowPriority / 2
        }
    }
}

/// Converts the errors of URLSession's tasks to the errors of transports.
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
        var cause =
            Self.cause(code, isCut: isCut, fromLibcurl: fromLibcurl) ?? (fromLibcurl ? Self.cause(text) : nil) ?? .other
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

    private static func cause(_ code: URLError.Code, isCut: Bool, fromLibcurl: Bool) -> TransportError.Code? {
        switch code {
        case .cannotConnectToHost: .connectionRefused
        case .cannotFindHost, .dnsLookupFailed: .hostNotFound
        case .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed: .unreachable
        case .timedOut: .timedOut
        case .networkConnectionLost: isCut && !fromLibcurl ? .truncated : .connectionLost
        // On Linux, the connection was closed before the first byte.
        case .badServerResponse: fromLibcurl ? .connectionLost : .malformedResponse
        case .cannotParseResponse: .malformedResponse
        case .cannotDecodeContentData, .cannotDecodeRawData: .undecodableContent
        case .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile: .unreadableBody
        case .dataLengthExceedsMaximum: .limitExceeded
        case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired:
            .tls
        // The response does not start like HTTP. The scheme was checked before.
        case .unsupportedURL where fromLibcurl: .malformedResponse
        // On Linux, the text tells the causes of all other codes.
        case _ where fromLibcurl: nil
        case .zeroByteResource: .truncated
        case .redirectToNonExistentLocation: .malformedResponse
        case .cannotLoadFromNetwork: .unreachable
        case .appTransportSecurityRequiresSecureConnection: .tls
        case .requestBodyStreamExhausted, .cannotOpenFile: .unreadableBody
        default: nil
        }
    }

    private static func cause(_ text: String) -> TransportError.Code? {
        causes.first { _, phrases in phrases.contains { text.contains($0) } }?.key
    }

    // The first row with a phrase counts. A connection that breaks within TLS comes before the failures of a handshake,
    // since the request may have been sent on it.
    private static let causes: KeyValuePairs<TransportError.Code, [String]> = [
        .proxyRefused: ["CONNECT tunnel failed", "from proxy after CONNECT"],
        .connectionLost: ["Send failure", "Recv failure", "SSL_read", "SSL_write", "recv error", "send error"],
        .truncated: ["transfer closed with", "end of response with"],
        .undecodableContent: ["content encoding", "unencoding"],
        // The other failures to make a socket or to connect it have codes of their own.
        .unreachable: ["Couldn't connect"],
        .tls: ["SSL", "certificate", "TLS"],
        .malformedResponse: [
            "chunk", "Failed writing header", "Header without colon", "Content-Length", "HTTP", "Out of memory",
        ],
    ]
}
