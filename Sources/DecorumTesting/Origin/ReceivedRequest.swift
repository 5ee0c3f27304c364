public import Decorum
public import Foundation
public import HTTPTypes

/// A request as the origin received it, byte for byte.
///
/// It is a snapshot: of a request whose body is still under way, ``isComplete`` is false.
public struct ReceivedRequest: Sendable, Hashable {
    /// The method.
    public let method: HTTPRequest.Method
    /// The target as it was sent, such as `/feed?page=2`.
    public let target: String
    /// The version, `HTTP/1.1` or `HTTP/1.0`.
    public let version: String
    /// The field lines, in order and as they were spelled.
    public let fields: RawFields
    /// Every byte of the head, up to and including the blank line.
    public let rawHead: Data
    /// The number of the connection that the request came on; the first that was accepted has number 1.
    public let connection: Int

    /// The content without its chunked coding; no more than the origin keeps of each body.
    public internal(set) var body = Data()
    /// The content as it was sent, with its chunked coding; no more than the origin keeps of each body.
    public internal(set) var rawBody = Data()
    /// The number of bytes of the content so far, kept or not.
    public internal(set) var bodyLength: Int64 = 0
    /// Whether the content so far has the bytes of ``BytePattern``, kept or not; true before any content.
    public internal(set) var isBodyPattern = true
    /// The trailer fields after a chunked body.
    public internal(set) var trailers = RawFields()
    /// Whether the request arrived to its end.
    public internal(set) var isComplete = false

    init(_ head: RequestParser.Head, connection: Int) {
        method = head.method
        target = head.target
        version = head.version
        fields = head.fields
        rawHead = Data(head.bytes)
        self.connection = connection
    }

    /// The target without its query; of an absolute target, the path alone.
    public var path: String { String(originForm.prefix { $0 != "?" }) }

    /// The part of the target after the first question mark; nil if absent.
    public var query: String? {
        let query = originForm.drop { $0 != "?" }
        return query.isEmpty ? nil : String(query.dropFirst())
    }

    /// The content that was kept, as text in UTF-8.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The head in the types of HTTPTypes, with the origin's scheme and the authority of the `Host` field.
    public var head: HTTPRequest {
        HTTPRequest(
            method: method, scheme: "http", authority: fields["Host"], path: originForm,
            headerFields: HTTPFields(fields))
    }

    /// The target, without the scheme and authority that a client gives a proxy.
    private var originForm: String {
        guard let scheme = target.range(of: "://"), !target.hasPrefix("/") else { return target }
        let path = target[scheme.upperBound...].drop { $0 != "/" && $0 != "?" }
        return path.hasPrefix("/") ? String(path) : "/" + path
    }

    /// Adds a piece of the body.
    mutating func append(_ bytes: [UInt8], raw: [UInt8], keeping limit: Int) {
        let piece = Data(bytes)
        isBodyPattern = isBodyPattern && BytePattern.matches(piece, at: bodyLength)
        bodyLength += Int64(bytes.count)
        body.append(piece.prefix(max(0, limit - body.count)))
        appendRaw(raw, keeping: limit)
    }

    mutating func appendRaw(_ bytes: [UInt8], keeping limit: Int) {
        rawBody.append(contentsOf: bytes.prefix(max(0, limit - rawBody.count)))
    }
}

// Tests send credentials too, and their output is stored. So the descriptions show only what `Redaction.standard` shows;
// the properties hold everything.

extension ReceivedRequest: CustomStringConvertible, CustomReflectable {
    /// The method, the target and the length of the content, without the secrets that `Redaction.standard` knows.
    public var description: String {
        "\(method) \(Redaction.described(target)), \(bodyLength) bytes" + (isComplete ? "" : " so far")
    }

    /// A mirror with the description and the field lines, as they describe themselves.
    public var customMirror: Mirror { Mirror(self, children: ["description": description, "fields": fields]) }
}

/// Field lines in the order, the spelling and the number in which they are sent.
///
/// ```swift
/// let fields: RawFields = ["Set-Cookie": "a=1", "SET-COOKIE": "b=2"]
/// ```
///
/// Nothing is checked: names and values may break every rule.
public struct RawFields: Sendable, Hashable {
    /// A field line.
    public struct Line: Sendable, Hashable {
        /// The name, as it is spelled.
        public var name: String
        /// The value, without the whitespace around it.
        public var value: String

        /// Creates a field line; nothing is checked.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The lines, in order.
    public var lines: [Line]

    /// Creates fields from lines, in order.
    public init(_ lines: [Line] = []) { self.lines = lines }

    /// Creates fields from the fields of a message, whose order and spelling are kept.
    public init(_ fields: HTTPFields) {
        lines = fields.map { Line(name: $0.name.rawName, value: $0.value) }
    }

    /// Returns the values of the lines with a name, in any letter case, in order.
    public func values(of name: String) -> [String] {
        lines.filter { $0.name.isSameFieldName(as: name) }.map(\.value)
    }

    /// The values of a field, joined by commas if it has several lines; nil if it has no line.
    public subscript(name: String) -> String? {
        let values = values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The values of a field, joined by commas if it has several lines; nil if it has no line.
    public subscript(name: HTTPField.Name) -> String? {
        self[name.canonicalName]
    }

    /// Whether the comma-separated list that is a field's value has a token, in any letter case.
    func has(_ token: String, in name: String) -> Bool {
        values(of: name).contains { value in
            value.split(separator: ",").contains { item in
                item.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" && $0 != ";" }.lowercased()
                    == token
            }
        }
    }

    /// Returns the lines of two values, one after the other.
    public static func + (fields: RawFields, others: RawFields) -> RawFields { RawFields(fields.lines + others.lines) }

    /// The lines as they are sent.
    var serialized: String { lines.map { "\($0.name): \($0.value)\r\n" }.joined() }
}

extension RawFields: CustomStringConvertible, CustomReflectable {
    /// The field lines between brackets, as they describe themselves.
    public var description: String { "[\(lines.map(\.description).joined(separator: ", "))]" }

    /// A mirror with the field lines.
    public var customMirror: Mirror { Mirror(self, unlabeledChildren: lines, displayStyle: .collection) }
}

extension RawFields.Line: SecretHolder {
    /// The name and the value, without the secrets that `Redaction.standard` knows.
    public var description: String {
        // A name that no field may have is in no list of names.
        guard let name = HTTPField.Name(name) else { return "\(name): \(value.utf8.count) bytes" }
        return "\(self.name): \(Redaction.standard.applied(to: [name: value])[name] ?? "")"
    }
}

extension RawFields: ExpressibleByDictionaryLiteral {
    /// Creates fields from names and values, in order; a name may repeat.
    public init(dictionaryLiteral elements: (String, String)...) {
        lines = elements.map { Line(name: $0.0, value: $0.1) }
    }
}

extension HTTPFields {
    /// Creates fields from lines, without the lines whose names no field may have.
    package init(_ fields: RawFields) {
        self.init()
        for line in fields.lines {
            guard let name = HTTPField.Name(line.name) else { continue }
            append(HTTPField(name: name, value: line.value))
        }
    }
}

extension String {
    fileprivate func isSameFieldName(as other: String) -> Bool {
        utf8.count == other.utf8.count && lowercased() == other.lowercased()
    }
}
