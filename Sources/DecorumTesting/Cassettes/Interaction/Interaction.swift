public import Decorum
import DecorumArchive
public import Foundation
public import HTTPTypes

/// One exchange of a cassette: a request, and the response or the failure that answered it.
///
/// It has both if the transfer failed within the response's body.
public struct Interaction: Sendable, Hashable {
    /// The request.
    public var request: RecordedRequest
    /// The response; nil if the exchange failed before the head of a response had arrived.
    public var response: RecordedResponse?
    /// The failure of the exchange; nil if it did not fail.
    public var failure: RecordedFailure?
    /// The day of the recording, or its exact time if the format has one.
    public var recordedAt: Date?
    /// The test of a suite that has recorded it, where the suite shares the cassette; else empty.
    ///
    /// Files of an older version may name several tests, in alphabetical order.
    /// A test is answered by its own recordings before the recordings of others, and recording it anew replaces them alone.
    public var tests: [String] = []

    /// Creates an interaction.
    public init(
        request: RecordedRequest, response: RecordedResponse? = nil, failure: RecordedFailure? = nil,
        recordedAt: Date? = nil
    ) {
        self.request = request
        self.response = response
        self.failure = failure
        self.recordedAt = recordedAt
    }
}

/// The failure of a recorded exchange.
public struct RecordedFailure: Sendable, Hashable {
    /// The code of a `TransportError`, such as `timedOut`, or `cancelled`.
    public var kind: String
    /// The stage of the exchange at its failure: `connect`, `head` or `body`.
    public var stage: Stage

    /// A stage of an exchange.
    public enum Stage: String, Sendable, Hashable {
        /// Before anything was sent.
        case connect
        /// Before the head of a response had arrived.
        case head
        /// Within the content, after the bytes that are recorded.
        case body
    }

    /// Creates a failure.
    public init(kind: String, stage: Stage) {
        self.kind = kind
        self.stage = stage
    }

    /// The kind of a body that its reader had dropped before its end.
    static let abandoned = "abandoned"
    static let cancelled = "cancelled"

    /// Whether the recorder stopped before the end of the content.
    var isCut: Bool { kind == Self.abandoned }
}

/// The content of a recorded request or response.
public struct RecordedBody: Sendable, Hashable {
    /// How far recorded bytes are the transferred ones, most exact first.
    public enum Exactness: String, Sendable, Hashable, Comparable {
        /// The bytes are the same, except for a content coding.
        case exact
        /// The bytes have the same meaning: the format kept the JSON value and not its text.
        case reserialized
        /// The format lost some of the bytes.
        case lossy

        /// Whether one is more exact than the other.
        public static func < (lhs: Self, rhs: Self) -> Bool { lhs != rhs && (lhs == .exact || rhs == .lossy) }
    }

    /// The content.
    public var bytes: Data
    /// The exactness of the bytes, compared with the transferred bytes.
    public var exactness: Exactness

    /// Creates a body.
    public init(_ bytes: Data = Data(), exactness: Exactness = .exact) {
        self.bytes = bytes
        self.exactness = exactness
    }
}

// Before it is written, an interaction holds credentials and content as they were sent, and is printed without them.
extension Interaction: SecretHolder {
    /// The request, and the response or the failure, as they describe themselves.
    public var description: String {
        [request.description, response?.description, failure?.kind].compactMap(\.self).joined(separator: ", ")
    }
}

extension RecordedBody: SecretHolder {
    /// The length; never the content.
    public var description: String { "\(bytes.count) bytes" }
}

enum InteractionPlace {
    /// The line of an interaction behind its request, as in ` (line 12)`; empty if it is not known.
    static func suffix(line: Int?) -> String { line.map { " (line \($0))" } ?? "" }

    /// The file of an interaction and its line, as in `feed.json:12`, which editors open; the file alone if the line is not
    /// known.
    static func address(in file: URL, line: Int?) -> String { file.relativePath + (line.map { ":\($0)" } ?? "") }

    /// The words for the line of an interaction and the tests that recorded it; empty if neither is known.
    static func words(line: Int?, tests: [String]) -> String {
        let recorder = tests.isEmpty ? nil : "recorded by \(tests.joined(separator: ", "))"
        return [line.map { "line \($0)" }, recorder].compactMap(\.self).joined(separator: ", ")
    }
}

/// The lines of an error that name interactions: the first ones, and the number of the others.
func listed(_ interactions: [String], upTo limit: Int = 10) -> String {
    let shown = interactions.prefix(limit).map { "\n  \($0)" }.joined()
    return interactions.count > limit ? "\(shown)\n  and \(interactions.count - limit) more" : shown
}

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
