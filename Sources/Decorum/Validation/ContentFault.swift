import Foundation

/// The reason why content cannot be decoded, and its place, without any value of the content.
enum ContentFault: Sendable, Equatable {
    case empty
    /// It starts like HTML or XML.
    case markup
    /// It still has a content coding, such as gzip.
    case coded(String)
    /// It is not JSON from a place on, which may be its end.
    case malformed(line: Int, column: Int, isEnd: Bool)
    /// Bytes of a string are not UTF-8, in which JSON is sent (RFC 8259, section 8.1).
    case notUTF8
    case missingKey(String, path: String, similar: SimilarKey?)
    case wrongType(expected: String, found: String?, path: String, isDate: Bool)
    case invalidValue(String, path: String)
    /// A number that the decoder names no place of.
    case unfitNumber
    /// An error of the app's own, or one that this package does not know.
    case other(String)

    init(_ error: any Error, in content: Data, coding: String?) {
        switch error as? DecodingError {
        case .keyNotFound(let key, let context):
            let value = JSONValue(at: context.codingPath, in: content)
            self = .missingKey(key.stringValue, path: context.path, similar: value.key(similarTo: key.stringValue))
        case .valueNotFound(let type, let context):
            self = .wrongType(expected: Self.kind(type), found: "null", path: context.path, isDate: false)
        case .typeMismatch(let type, let context):
            let isDate = type is Double.Type && JSONValue(at: context.codingPath, in: content).isDate
            self = .wrongType(
                expected: Self.kind(type), found: context.foundKind, path: context.path, isDate: isDate)
        case .dataCorrupted(let context):
            self = Self.malformed(content, coding: coding) ?? Self.invalid(context, in: content)
        default: self = .other(Redaction.standard.description(of: error))
        }
    }

    /// The name of a type, or of the kind of JSON value that it stands for.
    private static func kind(_ type: Any.Type) -> String {
        switch type {
        case is [String: Any].Type: "an object"
        case is [Any].Type: "an array"
        default: String(describing: type)
        }
    }

    /// The fault of a value in content that is JSON.
    private static func invalid(_ context: DecodingError.Context, in content: Data) -> ContentFault {
        // The decoder names the kind of value only in its text, which may quote the value too.
        let words = context.debugDescription.lowercased()
        let value = [
            ("iso8601", "a date that is not in the format of ISO 8601"),
            ("date string", "a date that is not in the format that the decoder expects"),
            ("url string", "a text that is no URL"), ("base64", "a text that is not Base64"),
        ].first { words.contains($0.0) }?.1
        if let value {
            // The decoder of ISO 8601 names the object that has the date, not the member.
            let members = JSONValue(at: context.codingPath, in: content).membersWithUnusualDate
            let path = members.map { context.path(to: $0) }.joined(separator: " or ")
            return .invalidValue("holds \(value)", path: path.isEmpty ? context.path : path)
        }
        guard context.codingPath.isEmpty else {
            return .invalidValue("has a value that its type does not accept", path: context.path)
        }
        return String(validating: content, as: UTF8.self) == nil ? .notUTF8 : .unfitNumber
    }

    /// Finds the fault of content that is not JSON; nil where it is.
    private static func malformed(_ content: Data, coding: String?) -> ContentFault? {
        let isCoded = coding.map { !$0.isEmpty } ?? false
        guard let first = content.first(where: { $0 > 0x20 }) ?? (isCoded ? content.first : nil) else { return .empty }
        if content.starts(with: [0x1F, 0x8B]) { return .coded("gzip") }
        let bytes = Array(content)
        guard let fault = JSONSecrets(bytes, redaction: .none).fault else { return nil }
        if let coding, isCoded { return .coded(Redaction.shownWords(coding)) }
        if first == UInt8(ascii: "<") { return .markup }
        let before = bytes[..<fault.token]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return .malformed(
            line: before.count { $0 == UInt8(ascii: "\n") } + 1, column: fault.token - lineStart + 1,
            isEnd: fault.token >= bytes.count)
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
            (isEnd ? "the JSON is incomplete, and ends at line " : "it is not valid JSON from line ")
                + "\(line), column \(column)\(isEnd ? "" : " on")."
        case .notUTF8: "it is JSON with bytes that are not UTF-8."
        case .missingKey(let key, let path, _): "\(path) has no “\(Redaction.shownWords(key))”."
        case .wrongType(let expected, let found, let path, _):
            "\(path) is \(found.map { "\($0), not \(expected)" } ?? "not \(expected)")."
        case .invalidValue(let event, let path): "\(path) \(event)."
        case .unfitNumber: "a number does not fit its type: it is too large, or has a fraction."
        case .other(let description): description
        }
    }

    /// How to avoid the fault, where that is known.
    var advice: String? {
        switch self {
        case .markup: "Check the URL, and whether a proxy or a page for signing in has answered."
        case .coded(let coding) where ContentCoding(coding).isDecodable:
            "Apply `decompressing()`, or do not ask for the coding."
        case .coded: "Do not ask for the coding, since it cannot be decoded here."
        case .missingKey(_, _, let similar?): similar.advice
        case .wrongType(_, _, _, isDate: true): "It looks like a date: set the decoder's `dateDecodingStrategy`."
        case .missingKey, .wrongType(_, found: "null", _, _):
            "Make the property optional if the server may leave it out."
        default: nil
        }
    }
}

extension DecodingError.Context {
    /// The path as in `items[1].name`; a key may be content, so that it is redacted.
    fileprivate var path: String { codingPath.isEmpty ? "the top level" : path(to: nil) }

    /// The path of a member of the object at this path.
    fileprivate func path(to member: String?) -> String {
        let keys = codingPath.map { ($0.stringValue, $0.intValue) } + (member.map { [($0, nil)] } ?? [])
        let text = keys.reduce(into: "") { text, key in
            text += key.1.map { "[\($0)]" } ?? (text.isEmpty ? key.0 : "." + key.0)
        }
        return Redaction.shownWords(text)
    }

    /// The kind of JSON value that was found, which the decoder only names in its text.
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
