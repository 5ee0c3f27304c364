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
    /// Whether the content so far is that of ``BytePattern``, kept or not; true while there is no content.
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
    public var path: String {
        String(originForm.prefix { $0 != "?" })
    }

    /// The part of the target after the first question mark; nil if absent.
    public var query: String? {
        let query = originForm.drop { $0 != "?" }
        return query.isEmpty ? nil : String(query.dropFirst())
    }

    /// The content that was kept, as text in UTF-8.
    public var text: String {
        String(decoding: body, as: UTF8.self)
    }

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
