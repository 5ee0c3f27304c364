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
    case missingKey(String, path: String)
    case wrongType(expected: String, found: String?, path: String)
    case invalidValue(path: String)
    /// An error of the app's own, or one that this package does not know.
    case other(String)

    init(_ error: any Error, in content: Data, coding: String?) {
        switch error as? DecodingError {
        case .keyNotFound(let key, let context): self = .missingKey(key.stringValue, path: context.path)
        case .valueNotFound(let type, let context):
            self = .wrongType(expected: String(describing: type), found: "null", path: context.path)
        case .typeMismatch(let type, let context):
            self = .wrongType(expected: String(describing: type), found: context.foundKind, path: context.path)
        case .dataCorrupted(let context):
            self =
                Self.malformed(content, coding: coding)
                ?? .invalidValue(path: context.codingPath.isEmpty ? "" : context.path)
        default: self = .other(Redaction.standard.description(of: error))
        }
    }

    /// Finds the fault of content that is not JSON; nil where it is.
    private static func malformed(_ content: Data, coding: String?) -> ContentFault? {
        guard let first = content.first(where: { $0 > 0x20 }) else { return .empty }
        if content.starts(with: [0x1F, 0x8B]) { return .coded("gzip") }
        let bytes = Array(content)
        guard let fault = JSONSecrets(bytes, redaction: .none).fault else { return nil }
        if let coding, !coding.isEmpty { return .coded(Redaction.shownWords(coding)) }
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
        case .missingKey(let key, let path): "\(path) has no “\(Redaction.shownWords(key))”."
        case .wrongType(let expected, let found, let path):
            "\(path) is \(found.map { "\($0), not \(expected)" } ?? "not \(expected)")."
        case .invalidValue(path: ""): "a value does not fit its type, such as a number that is too large."
        case .invalidValue(let path): "\(path) has a value that its type does not accept."
        case .other(let description): description
        }
    }

    /// How to avoid the fault, where that is known.
    var advice: String? {
        switch self {
        case .markup: "Check the URL, and whether a proxy or a page for signing in has answered."
        case .coded: "Apply `decompressing()`, or do not ask for the coding."
        case .missingKey, .wrongType(_, found: "null", _):
            "Make the property optional if the server may leave it out."
        default: nil
        }
    }
}

extension DecodingError.Context {
    /// The path as in `items[1].name`; a key may be content, so that it is redacted.
    fileprivate var path: String {
        guard !codingPath.isEmpty else { return "the top level" }
        let text = codingPath.reduce(into: "") { text, key in
            text += key.intValue.map { "[\($0)]" } ?? (text.isEmpty ? key.stringValue : "." + key.stringValue)
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
