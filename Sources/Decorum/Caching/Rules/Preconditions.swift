import Foundation
import HTTPTypes

/// The conditions of a request, evaluated on a stored response (RFC 9110, section 13, and RFC 9111, section 4.3.2).
enum Preconditions {
    private static let unsupported = FieldNames([.ifMatch, .ifUnmodifiedSince])
    private static let all = FieldNames([
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange,
    ])

    /// Whether a request has a condition that only the origin server can evaluate, or that the mode leaves to it.
    static func needOrigin(_ fields: HTTPFields, in mode: CacheMode = .answering) -> Bool {
        let names = mode == .answering ? unsupported : all
        for index in fields.indices where names.contains(fields[index].name) { return true }
        return false
    }

    /// Whether the client already has the stored response, so that `304` is enough.
    static func areMet(_ fields: HTTPFields, by stored: HTTPResponse, at now: Date) -> Bool {
        guard stored.status == .ok || stored.status == .partialContent else { return false }
        if fields.has(.ifNoneMatch) {
            let tag = stored.headerFields.firstValue(of: .eTag)?.opaqueTag
            return fields.contains { field in
                field.name == .ifNoneMatch
                    && ListMembers(field.value).contains { $0 == "*" || String($0).opaqueTag == tag }
            }
        }
        guard let value = fields.firstValue(of: .ifModifiedSince), let date = HTTPDate(value, at: now) else {
            return false
        }
        let modified =
            stored.headerFields.firstValue(of: .lastModified) ?? stored.headerFields.firstValue(of: .date)
        return modified.flatMap { HTTPDate($0, at: now) }.map { $0.seconds <= date.seconds } ?? false
    }

    /// The range that a request asks for, with respect to its `If-Range` (RFC 9110, sections 13.1.5 and 14.2).
    ///
    /// - Parameters:
    ///   - request: The request, whose `Range` counts only with `GET`.
    ///   - stored: The response that is stored.
    /// - Returns: The range; nil if the whole content is the answer.
    static func range(of request: HTTPRequest, in stored: StoredResponse) -> ByteRange? {
        let fields = request.headerFields
        guard request.method == .get, fields.has(.range),
            let range = fields.firstValue(of: .range).flatMap({ ByteRange($0) })
        else { return nil }
        guard fields.has(.ifRange) else { return range }
        guard let condition = fields[.ifRange], isMet(ifRange: condition, by: stored.head, at: stored.date) else {
            return nil
        }
        return range
    }

    /// Whether the condition names the stored content byte for byte: a strong tag, or the date of a content that was
    /// not modified again within the second (RFC 9110, section 8.8.2.2).
    private static func isMet(ifRange condition: String, by stored: HTTPResponse, at now: Date) -> Bool {
        if condition.utf8.first == UInt8(ascii: "\"") { return PartialContent.strongTag(of: stored) == condition }
        let fields = stored.headerFields
        guard let modified = fields.firstValue(of: .lastModified), modified == condition,
            let sent = fields.firstValue(of: .date).flatMap({ HTTPDate($0, at: now) }),
            let date = HTTPDate(modified, at: now)
        else { return false }
        return sent.seconds - date.seconds >= strongDateDistance
    }

    /// The seconds by which `Date` is later than a `Last-Modified` that counts as strong, even if the clocks that wrote
    /// them differ.
    private static let strongDateDistance: Int64 = 60

    /// The fields of a `304` (RFC 9110, section 15.4.5): the metadata of the stored response, not of its content.
    static func notModified(_ stored: HTTPResponse) -> HTTPResponse {
        var head = stored
        head.status = .notModified
        for name in [HTTPField.Name.contentLength, .contentRange, .contentEncoding, .contentType] {
            if head.headerFields.contains(name) { head.headerFields[name] = nil }
        }
        return head
    }
}
