public import Decorum
public import HTTPTypes

/// The request of an interaction.
public struct RecordedRequest: Sendable, Hashable {
    /// The method, in the case in which it is sent.
    public var method: String
    /// The URL as the cassette has it.
    public var url: String
    /// The header fields in their order, repeats included.
    public var fields: HTTPFields
    /// The content.
    public var body: RecordedBody
    /// The trailer fields.
    public var trailers: HTTPFields

    /// Creates a request.
    public init(
        method: String, url: String, fields: HTTPFields = HTTPFields(), body: RecordedBody = RecordedBody(),
        trailers: HTTPFields = HTTPFields()
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.trailers = trailers
    }
}

/// The response of an interaction.
public struct RecordedResponse: Sendable, Hashable {
    /// The status code.
    public var status: Int
    /// The reason phrase; empty if it is the usual one or was absent.
    public var reason: String
    /// The header fields in their order, repeats included.
    public var fields: HTTPFields
    /// The content, without the content coding that ``coding`` names.
    public var body: RecordedBody
    /// The trailer fields.
    public var trailers: HTTPFields
    /// The interim responses that came before the head, such as 103.
    public var informational: [Interim]
    /// The content coding that was undone before the content was recorded, such as `gzip`.
    public var coding: String?
    /// The chunks in which the content arrived; empty if it arrived in one piece, or if the chunks are unknown.
    public var chunks: [Chunk]

    /// An interim response (RFC 9110, section 15.2).
    public struct Interim: Sendable, Hashable {
        /// The status code, from 100 to 199.
        public var status: Int
        /// The header fields.
        public var fields: HTTPFields

        /// Creates an interim response.
        public init(status: Int, fields: HTTPFields = HTTPFields()) {
            self.status = status
            self.fields = fields
        }
    }

    /// A part of the content that arrived at once.
    public struct Chunk: Sendable, Hashable {
        /// The time since the chunk before, or since the head, in milliseconds.
        public var pause: Int
        /// The number of bytes.
        public var length: Int

        /// Creates a chunk.
        public init(pause: Int, length: Int) {
            self.pause = pause
            self.length = length
        }
    }

    /// Creates a response.
    public init(
        status: Int, reason: String = "", fields: HTTPFields = HTTPFields(), body: RecordedBody = RecordedBody(),
        trailers: HTTPFields = HTTPFields(), informational: [Interim] = [], coding: String? = nil, chunks: [Chunk] = []
    ) {
        self.status = status
        self.reason = reason
        self.fields = fields
        self.body = body
        self.trailers = trailers
        self.informational = informational
        self.coding = coding
        self.chunks = chunks
    }
}

extension RecordedRequest: SecretHolder {
    /// The method and the URL, without its fragment and the secrets that `Redaction.standard` knows, and the content.
    public var description: String { "\(method) \(Redaction.described(url)), \(body)" }
}

extension RecordedResponse: SecretHolder {
    /// The code of the status, without the reason phrase, and the content.
    public var description: String { "\(status), \(body)" }
}

extension RecordedResponse.Interim: SecretHolder {
    /// The code of the status.
    public var description: String { "\(status)" }
}

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
