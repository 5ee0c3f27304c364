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
    /// A byte of a string is not UTF-8, in which JSON is sent (RFC 8259, section 8.1).
    case notUTF8(line: Int, column: Int)
    /// After a conversion of keys, the key is that of the JSON, and the name that of the property where it differs.
    case missingKey(String, name: String?, path: ContentPath, similar: SimilarKey?)
    case wrongType(expected: String, found: String?, path: ContentPath, isDate: Bool)
    /// A value of the right kind; the places that it may have.
    case invalidValue(String, paths: [ContentPath])
    /// A number that the decoder names no place of; the places that it may have, where they are few.
    case unfitNumber(places: [String])
    /// An error of the app's own, or one that this package does not know.
    case other(String)

    /// Finds the reason for the error of a decoder.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - content: The content.
    ///   - coding: The value of `Content-Encoding`.
    ///   - convertsKeys: Whether the decoder makes names of keys by `.convertFromSnakeCase`.
    init(_ error: any Error, in content: Data, coding: String?, convertsKeys: Bool = false) {
        switch error as? DecodingError {
        case .keyNotFound(let key, let context):
            let value = JSONValue(at: context.codingPath, in: content)
            let name = key.stringValue
            let known = convertsKeys ? SimilarKey.snakeCase(name) : nil
            self = .missingKey(
                known ?? name, name: known == nil ? nil : name, path: ContentPath(value.path),
                similar: value.key(similarTo: name))
        case .valueNotFound(let type, let context):
            self = .wrongType(
                expected: Self.kind(type), found: "null", path: ContentPath(context, in: content), isDate: false)
        case .typeMismatch(let type, let context):
            let isDate = type is Double.Type && JSONValue(at: context.codingPath, in: content).isDate
            self = .wrongType(
                expected: Self.kind(type), found: context.foundKind, path: ContentPath(context, in: content),
                isDate: isDate)
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
            let object = JSONValue(at: context.codingPath, in: content)
            let members = object.membersWithUnusualDate.map { ContentPath(object.path, to: $0) }
            let paths = members.isEmpty ? [ContentPath(context, in: content)] : members
            return .invalidValue("holds \(value)", paths: paths)
        }
        guard context.codingPath.isEmpty else {
            let path = ContentPath(context, in: content)
            return .invalidValue("has a value that its type does not accept", paths: [path])
        }
        let bytes = Array(content)
        if let place = placeOfOtherThanUTF8(in: bytes) {
            let (line, column) = lineAndColumn(of: place, in: bytes)
            return .notUTF8(line: line, column: column)
        }
        if let place = placeOfLoneSurrogate(in: bytes) {
            let (line, column) = lineAndColumn(of: place, in: bytes)
            return .malformed(line: line, column: column, isEnd: false)
        }
        return .unfitNumber(places: JSONValue(at: [], in: content).placesOfUnfitNumber)
    }

    private static func placeOfOtherThanUTF8(in bytes: [UInt8]) -> Int? {
        var parser = UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var place = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let scalar): place += scalar.count
            case .error: return place
            case .emptyInput: return nil
            }
        }
    }

    /// The first string with half of a surrogate pair, which is no character (RFC 8259, section 8.2).
    private static func placeOfLoneSurrogate(in bytes: [UInt8]) -> Int? {
        var scanner = JSONScanner(bytes)
        while let token = try? scanner.token() {
            if JSONText.hasLoneSurrogate(bytes[token]) { return token.lowerBound }
        }
        return nil
    }

    /// Finds the fault of content that is not JSON; nil where it is.
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
            isEnd = isCut(bytes[error.offset...])
            place = isEnd ? bytes.count : error.offset
        }
        guard let place else { return nil }
        if let coding, isCoded { return .coded(Redaction.shownWords(coding)) }
        if first == UInt8(ascii: "<") { return .markup }
        let (line, column) = lineAndColumn(of: place, in: bytes)
        return .malformed(line: line, column: column, isEnd: isEnd)
    }

    private static func lineAndColumn(of place: Int, in bytes: [UInt8]) -> (line: Int, column: Int) {
        let before = bytes[..<place]
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return (before.count { $0 == UInt8(ascii: "\n") } + 1, place - lineStart + 1)
    }

    /// Whether more bytes could make the faulty rest valid: nothing, a string or an escape without its end, or the begin of a
    /// number or a word.
    private static func isCut(_ rest: ArraySlice<UInt8>) -> Bool {
        switch rest.first {
        case nil: true
        // The reader stands at the end of a string that has none, unless its last byte begins an escape.
        case UInt8(ascii: "\""): rest.last == UInt8(ascii: "\\")
        case UInt8(ascii: "\\"):
            rest.count < 6 && rest.dropFirst().first == UInt8(ascii: "u")
                && rest.dropFirst(2).allSatisfy { PercentCoding.hexDigit($0) != nil }
        default: ["true", "false", "null"].contains { $0.utf8.starts(with: rest) } || isBeginOfNumber(rest)
        }
    }
}

extension ContentFault {
    /// Whether bytes are the begin of a number that needs more digits (RFC 8259, section 6).
    private static func isBeginOfNumber(_ token: ArraySlice<UInt8>) -> Bool {
        var rest = token
        func drop(_ bytes: String) -> Bool {
            guard let first = rest.first, bytes.utf8.contains(first) else { return false }
            rest.removeFirst()
            return true
        }
        func dropDigits() -> Bool {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            rest = rest.dropFirst(digits.count)
            return !digits.isEmpty
        }
        _ = drop("-")
        if !drop("0"), !dropDigits() { return rest.isEmpty }
        if drop("."), !dropDigits() { return rest.isEmpty }
        guard drop("eE") else { return false }
        _ = drop("+-")
        return !dropDigits() && rest.isEmpty
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
                ? "the JSON was cut, and ends at line \(line), column \(column) before it is complete."
                : "it is not valid JSON from line \(line), column \(column) on."
        case .notUTF8(let line, let column):
            "it is JSON with bytes that are not UTF-8, the first at line \(line), column \(column)."
        case .missingKey(let key, let name, let path, _):
            "\(path) has no “\(Redaction.shownWords(key))”"
                + (name.map { " (“\(Redaction.shownWords($0))” in Swift)." } ?? ".")
        case .wrongType(let expected, let found, let path, _):
            "\(path) is \(found.map { "\($0), not \(expected)" } ?? "not \(expected)")."
        case .invalidValue(let event, let paths): "\(paths.map(\.description).joined(separator: " or ")) \(event)."
        case .unfitNumber(let places):
            "a number does not fit its type: it is too large, or has a fraction."
                + (places.isEmpty ? "" : " Look at \(Redaction.shownWords(places.joined(separator: " and "))).")
        case .other(let description): description
        }
    }

    /// The place of the value at fault, with the keys of the JSON; nil where the fault is not that of one value.
    var path: String? {
        switch self {
        case .missingKey(let key, _, let path, _): path.member(key).text
        case .wrongType(_, _, let path, _): path.text
        case .invalidValue(_, let paths): paths.count == 1 ? paths.first?.text : nil
        case .empty, .markup, .coded, .malformed, .notUTF8, .unfitNumber, .other: nil
        }
    }

    /// How to avoid the fault, where that is known.
    var advice: String? {
        switch self {
        case .malformed(_, _, isEnd: true):
            "For HTTP the response was complete, so the server or a proxy has cut the content before. Send the request again; "
                + "if it is cut again, look for a limit there."
        case .markup: "Check the URL, and whether a proxy or a page for signing in has answered."
        case .coded(let coding) where ContentCoding(coding).isDecodable:
            "Apply `decompressing()`, or do not ask for the coding."
        case .coded: "Do not ask for the coding, since it cannot be decoded here."
        case .missingKey(_, _, _, let similar?): similar.advice
        case .wrongType(_, _, _, isDate: true): "It looks like a date: set the decoder's `dateDecodingStrategy`."
        case .missingKey, .wrongType(_, found: "null", _, _):
            "Make the property optional if the server may leave it out."
        default: nil
        }
    }
}

extension DecodingError.Context {
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
