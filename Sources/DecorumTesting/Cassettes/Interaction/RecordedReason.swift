import HTTPTypes

extension RecordedResponse {
    /// The status with its reason phrase: the one that was recorded, or the usual one.
    var statusLine: HTTPResponse.Status {
        let phrase = reason.isEmpty ? Self.usualReasons[status] ?? "" : reason
        return HTTPResponse.Status(code: status, reasonPhrase: phrase)
    }

    /// The reason phrase of a status as it is recorded; empty if it is the usual one (RFC 9110, section 15).
    static func recordedReason(of status: HTTPResponse.Status) -> String {
        status.reasonPhrase == usualReasons[status.code] ? "" : status.reasonPhrase
    }

    private static let usualReasons: [Int: String] = {
        let statuses: [HTTPResponse.Status] = [
            .switchingProtocols, .earlyHints, .ok, .created, .accepted, .nonAuthoritativeInformation, .noContent,
            .resetContent, .partialContent, .multipleChoices, .movedPermanently, .found, .seeOther, .notModified,
            .temporaryRedirect, .permanentRedirect, .badRequest, .unauthorized, .forbidden, .notFound,
            .methodNotAllowed, .notAcceptable, .proxyAuthenticationRequired, .requestTimeout, .conflict, .gone,
            .lengthRequired, .preconditionFailed, .contentTooLarge, .uriTooLong, .unsupportedMediaType,
            .rangeNotSatisfiable, .expectationFailed, .misdirectedRequest, .unprocessableContent, .tooEarly,
            .upgradeRequired, .preconditionRequired, .tooManyRequests, .requestHeaderFieldsTooLarge,
            .unavailableForLegalReasons, .internalServerError, .notImplemented, .badGateway, .serviceUnavailable,
            .gatewayTimeout, .httpVersionNotSupported, .networkAuthenticationRequired,
        ]
        return Dictionary(statuses.map { ($0.code, $0.reasonPhrase) }) { first, _ in first }
    }()
}
