import Foundation
import HTTPTypes

/// The conditions of a request, evaluated on a stored response (RFC 9110, section 13, and RFC 9111, section 4.3.2).
enum Preconditions {
    private static let unsupported = FieldNames([.ifMatch, .ifRange, .ifUnmodifiedSince])

    /// Whether a request has a condition that only the origin server can evaluate.
    static func needOrigin(_ fields: HTTPFields) -> Bool {
        for index in fields.indices where unsupported.contains(fields[index].name) { return true }
        return false
    }

    /// Whether the client already has the stored response, so that `304` is enough.
    static func areMet(_ fields: HTTPFields, by stored: HTTPResponse, at now: Date) -> Bool {
        guard stored.status == .ok || stored.status == .partialContent else { return false }
        if fields.contains(.ifNoneMatch) {
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
