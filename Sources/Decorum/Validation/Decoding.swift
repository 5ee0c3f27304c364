public import Foundation
public import HTTPTypes

extension Response {
    /// Reads the whole body as JSON.
    ///
    /// ```swift
    /// let items = try await response.decode([Item].self, upTo: 1 << 20)
    /// ```
    ///
    /// It decodes on the caller's actor, so that types of the main actor can be decoded there. For large content, call
    /// it from a `@concurrent` function.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - limit: The largest number of bytes to accept.
    ///   - decoder: The decoder.
    /// - Returns: The decoded value.
    /// - Throws: As ``Body/collect(upTo:)``, or ``ResponseDecodingError``. The descriptions of these errors name the
    ///   response: its status, its media type, its URL without the query, and the route name.
    public func decode<Value: Decodable>(
        _ type: Value.Type, upTo limit: Int, using decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        try decode(type, from: try await data(upTo: limit), using: decoder)
    }

    /// Decodes JSON that was read from the body before, as by ``data(upTo:)``.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - content: The content.
    ///   - decoder: The decoder.
    /// - Returns: The decoded value.
    /// - Throws: ``ResponseDecodingError``, which names the response.
    public func decode<Value: Decodable>(
        _ type: Value.Type, from content: Data, using decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        do {
            return try decoder.decode(type, from: content)
        } catch {
            throw ResponseDecodingError(type, content, error, response: self)
        }
    }

    /// Reads the whole body, within the time of the call if ``Connection/limitingTime(_:clock:)`` sets one.
    ///
    /// - Parameter limit: The largest number of bytes to accept.
    /// - Returns: The content.
    /// - Throws: As ``Body/collect(upTo:)``; the descriptions of the errors name the response.
    public func data(upTo limit: Int) async throws -> Data {
        do {
            return try await readInTime { try await $0.data(upTo: limit) }
        } catch {
            throw naming(error)
        }
    }
}

extension Body {
    /// Reads the whole body as JSON.
    ///
    /// For the body of a response, ``Response/decode(_:upTo:using:)`` has errors that say more. It decodes on the caller's
    /// actor, so that types of the main actor can be decoded there.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - limit: The largest number of bytes to accept.
    ///   - decoder: The decoder.
    /// - Returns: The decoded value.
    /// - Throws: As ``collect(upTo:)``, or ``ResponseDecodingError``.
    public func decode<Value: Decodable>(
        _ type: Value.Type, upTo limit: Int, using decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        let data = try await data(upTo: limit)
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw ResponseDecodingError(type, data, error, response: nil)
        }
    }
}

/// The content of a response is not what the app expects.
public struct ResponseDecodingError: DescribableError {
    /// The decoder's error: a `DecodingError`, or one that an `init(from:)` of the app has thrown.
    public let underlying: any Error
    /// The name of the type that was to be decoded.
    public let type: String
    /// The number of bytes of the content.
    public let length: Int
    /// The status of the response; nil if only its body was decoded.
    public let status: HTTPResponse.Status?
    /// The value of `Content-Type`; nil if the response has none, or if only its body was decoded.
    public let contentType: String?
    /// The URL that answered; nil if it is not known.
    public let url: URL?
    /// The route name of the request; nil if it has none, or if the transport does not tell.
    public let routeName: String?
    /// The place of the value at fault, with the keys that the decoder names, as in `items[1].name`.
    ///
    /// It is nil if the content as a whole is at fault, or if the decoder names no place. A key that may be a secret is
    /// redacted.
    public var path: String? { fault.path }
    private let recordedNote: String?
    private let subject: String
    private let isEvent: Bool
    private let fault: ContentFault

    /// The error of the data of one event in a stream.
    package init(_ type: Any.Type, ofEvent data: Data, _ error: any Error) {
        self.init(type, data, error, response: nil, isEvent: true)
    }

    init(_ type: Any.Type, _ content: Data, _ error: any Error, response: Response?, isEvent: Bool = false) {
        underlying = error
        self.type = String(describing: type)
        length = content.count
        status = response?.status
        contentType = response?.head.headerFields[.contentType]
        url = response?.metadata.url
        routeName = response?.metadata.routeName
        recordedNote = response?.metadata.recordedNote
        subject =
            response.map { "The " + $0.subject(length: content.count) }
            ?? "The \(isEvent ? "data of an event" : "content") (\(content.count) bytes)"
        self.isEvent = isEvent
        fault = ContentFault(error, in: content, coding: response?.head.headerFields[.contentEncoding])
    }
}

extension ResponseDecodingError: SecretHolder {
    /// The response, with its URL but without the query, and the place and kind of the fault; never a value of the content.
    public var description: String {
        "\(subject) cannot be decoded as \(type): \(fault)" + (advice.map { " \($0)" } ?? "")
            + (recordedNote.map { " \($0)" } ?? "")
    }

    private var advice: String? {
        if let status, !AcceptedStatuses.successful.contains(status) {
            return "Apply `validatingStatus()` to get such a response as an error."
        }
        return isEvent ? nil : fault.advice
    }
}

extension ResponseMetadata {
    /// The sentence about a response of which an error tells, and that no server has sent; nil for any other response.
    var recordedNote: String? {
        guard source == .cassette else { return nil }
        let place = recordingPlace?() ?? "a recording"
        return "It was played from \(place); `CASSETTE=verify` checks whether the server still answers so."
    }
}

extension Response {
    /// The response as the description of an error names it: the status, the URL without its query, the route name, the media
    /// type, the length if it is given, and the first redirection with the method that all have led to.
    fileprivate func subject(length: Int? = nil) -> String {
        let place = metadata.url.map { " of " + Redaction.describedPath($0.absoluteString) } ?? ""
        let facts = [
            metadata.routeName.map { "route “\(Redaction.shownWords($0))”" },
            head.headerFields[.contentType].map(Redaction.shownWords), length.map { "\($0) bytes" }, redirection,
        ].compactMap { $0 }
        let list = facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))"
        return "response \(status.code)\(place)\(list)"
    }

    private var redirection: String? {
        guard let first = metadata.redirects.first, let last = metadata.redirects.last else { return nil }
        let place = Redaction.describedPath(first.from.absoluteString)
        return "after a \(first.status.code) of \(place), by \(last.method)"
    }

    /// Names the response in an error that reading its body has thrown.
    fileprivate func naming(_ error: any Error) -> any Error {
        switch error {
        case var error as BodyLimitError:
            error.response = subject()
            return error
        case var error as ContentCodingError:
            error.response = subject()
            return error
        default: return error
        }
    }
}

/// The reason for which content cannot be decoded, and its place, without any value of the content.
private enum ContentFault: Sendable {
    case empty
    /// It starts like HTML or XML.
    case markup
    /// It still has a content coding, such as gzip.
    case coded(String)
    /// It is not JSON from a place on, or it ends there before it is complete.
    case malformed(line: Int, column: Int, isEnd: Bool)
    case missingKey(String, place: String?)
    case wrongType(expected: String, found: String?, place: String?)
    /// A value of the right kind, such as a date in another format or a number that does not fit.
    case invalidValue(place: String?)
    /// An error of the app's own, or one that this package does not know.
    case other(String)

    init(_ error: any Error, in content: Data, coding: String?) {
        switch error as? DecodingError {
        case .keyNotFound(let key, let context):
            self = .missingKey(key.stringValue, place: Self.place(context.codingPath))
        case .valueNotFound(let type, let context):
            self = .wrongType(expected: Self.kind(type), found: "null", place: Self.place(context.codingPath))
        case .typeMismatch(let type, let context):
            self = .wrongType(
                expected: Self.kind(type), found: context.foundKind, place: Self.place(context.codingPath))
        case .dataCorrupted(let context):
            self = Self.malformed(content, coding: coding) ?? .invalidValue(place: Self.place(context.codingPath))
        default: self = .other(Redaction.standard.description(of: error))
        }
    }

    /// The place of a value, as in `items[1].name`, without secrets; nil for the top level.
    private static func place(_ path: [any CodingKey]) -> String? {
        let text = path.reduce("") { place, key in
            key.intValue.map { place + "[\($0)]" } ?? (place.isEmpty ? key.stringValue : "\(place).\(key.stringValue)")
        }
        return text.isEmpty ? nil : Redaction.shownWords(text)
    }

    /// The name of a type, or of the kind of JSON value that it stands for.
    private static func kind(_ type: Any.Type) -> String {
        switch type {
        case is [String: Any].Type: "an object"
        case is [Any].Type: "an array"
        default: String(describing: type)
        }
    }

    /// Finds the fault of content that is not JSON; nil for JSON.
    private static func malformed(_ content: Data, coding: String?) -> ContentFault? {
        let isCoded = coding.map { !$0.isEmpty } ?? false
        guard let first = content.first(where: { $0 > 0x20 }) ?? (isCoded ? content.first : nil) else { return .empty }
        if content.starts(with: [0x1F, 0x8B]) { return .coded("gzip") }
        let bytes = Array(content)
        var scanner = JSONScanner(bytes)
        var (place, isEnd): (Int?, Bool) = (nil, false)
        do throws(JSONSyntaxError) {
            _ = try scanner.skipValue()
            if scanner.next() != nil { place = scanner.position }
        } catch {
            // The reader stands at the begin of a string that has no end.
            isEnd = error.offset >= bytes.count || bytes[error.offset] == UInt8(ascii: "\"")
            place = isEnd ? bytes.count : error.offset
        }
        guard let place else { return nil }
        if let coding, isCoded { return .coded(Redaction.shownWords(coding)) }
        if first == UInt8(ascii: "<") { return .markup }
        let before = bytes[..<place]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return .malformed(
            line: before.count { $0 == UInt8(ascii: "\n") } + 1, column: place - lineStart + 1, isEnd: isEnd)
    }
}

extension ContentFault: CustomStringConvertible {
    /// A sentence without its subject's name.
    var description: String {
        switch self {
        case .empty: "it is empty."
        case .markup: "it is HTML or XML, not JSON."
        case .coded(let coding): "it has the content coding \(coding)."
        case .malformed(let line, let column, let isEnd):
            isEnd
                ? "the JSON ends at line \(line), column \(column) before it is complete."
                : "it is not valid JSON from line \(line), column \(column) on."
        case .missingKey(let key, let place): "\(place ?? "the top level") has no “\(Redaction.shownWords(key))”."
        case .wrongType(let expected, let found, let place):
            "\(place ?? "the top level") is \(found.map { "\($0), not \(expected)" } ?? "not \(expected)")."
        case .invalidValue(let place): "\(place ?? "the content") has a value that its type does not accept."
        case .other(let description): description
        }
    }

    var path: String? {
        switch self {
        case .missingKey(let key, let place): (place.map { $0 + "." } ?? "") + Redaction.shownWords(key)
        case .wrongType(_, _, let place), .invalidValue(let place): place
        case .empty, .markup, .coded, .malformed, .other: nil
        }
    }

    /// How to avoid the fault, if that is known.
    var advice: String? {
        switch self {
        case .markup: "Check the URL, and whether a proxy or a page for signing in has answered."
        case .coded(let coding) where ContentCoding(coding).isDecodable:
            "Apply `decompressing()`, or do not ask for the coding."
        case .coded: "Do not ask for the coding, since it cannot be decoded here."
        case .missingKey, .wrongType(_, found: "null", _): "Make the property optional if the server may leave it out."
        default: nil
        }
    }
}

extension DecodingError.Context {
    /// The kind of JSON value that was found, which the decoder names in its text alone.
    fileprivate var foundKind: String? {
        let kinds = [
            ("a string", "a string"), ("string", "a string"), ("number", "a number"), ("bool", "a boolean"),
            ("an array", "an array"), ("array", "an array"), ("a dictionary", "an object"), ("null", "null"),
        ]
        return kinds.first {
            debugDescription.contains("found \($0.0) ") || debugDescription.contains("found \($0.0).")
        }?.1
    }
}
