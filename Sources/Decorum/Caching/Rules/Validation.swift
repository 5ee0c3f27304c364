import Foundation
import HTTPTypes

/// Asking a server about stored responses, and what its answer means for them (RFC 9111, section 4.3).
enum Validation {
    /// Adds the validators of stored responses to the conditions of a request.
    static func ask(about stored: [StoredResponse], in fields: inout HTTPFields) {
        var tags = stored.compactMap { $0.head.headerFields.firstValue(of: .eTag) }
        if fields.contains(.ifNoneMatch) {
            let asked = fields.filter { $0.name == .ifNoneMatch }.map(\.value)
            let known = Set(asked.flatMap { Array(ListMembers($0)).map { String($0).opaqueTag } })
            tags = asked + tags.filter { !known.contains($0.opaqueTag) }
        }
        if let tag = tags.first { fields[.ifNoneMatch] = tags.count == 1 ? tag : tags.joined(separator: ", ") }
        // A date tells one of several responses from another no better than chance.
        if stored.count == 1, let date = stored[0].head.headerFields.firstValue(of: .lastModified) {
            fields[.ifModifiedSince] = date
        } else if !stored.isEmpty {
            fields[.ifModifiedSince] = nil
        }
    }

    /// The stored response that a `304` confirms (RFC 9111, section 4.3.4); nil where it is about none of them.
    static func confirmed(by validation: HTTPResponse, among stored: [StoredResponse]) -> StoredResponse? {
        if let tag = validation.headerFields.firstValue(of: .eTag) {
            if let same = stored.first(where: { $0.head.headerFields.firstValue(of: .eTag)?.opaqueTag == tag.opaqueTag }
            ) {
                return same
            }
            return stored.count == 1 && !stored[0].head.headerFields.contains(.eTag) ? stored[0] : nil
        }
        guard stored.count == 1 else { return nil }
        let modified = validation.headerFields.firstValue(of: .lastModified)
        let storedModified = stored[0].head.headerFields.firstValue(of: .lastModified)
        return modified == nil || storedModified == nil || modified == storedModified ? stored[0] : nil
    }

    /// Updates the fields of a stored response with those of a `304` or of a response to `HEAD` (RFC 9111, section 3.2).
    static func freshened(_ head: HTTPResponse, with update: HTTPFields) -> HTTPResponse {
        var head = head
        // A cookie is set by the response that brings it; once more would put an old session in place of a new one.
        if head.headerFields.contains(.setCookie) { head.headerFields[.setCookie] = nil }
        let connectionFields = update.connectionFields
        for (index, field) in update.enumerated() where !update[..<index].contains(where: { $0.name == field.name }) {
            guard !keptFields.contains(field.name), !StoringRules.unstoredFields.contains(field.name),
                !connectionFields.contains(field.name), !head.headerFields.hasSame(field.name, as: update)
            else { continue }
            head.headerFields[fields: field.name] = update[fields: field.name]
        }
        return head
    }

    /// Whether a response to `HEAD` is about a stored response to `GET` (RFC 9111, section 4.3.5).
    static func isUpdate(_ head: HTTPResponse, of stored: StoredResponse) -> Bool {
        let fields = head.headerFields
        let storedFields = stored.head.headerFields
        let sameValidators = [HTTPField.Name.eTag, .lastModified].allSatisfy { name in
            fields.firstValue(of: name).map { $0 == storedFields.firstValue(of: name) } ?? true
        }
        let length = fields.firstValue(of: .contentLength).flatMap { Int64($0) }
        return sameValidators && (length == nil || stored.body.length == nil || length == stored.body.length)
    }

    /// The fields that describe the stored content, which a `304` does not bring.
    private static let keptFields: Set<HTTPField.Name> = [
        .contentEncoding, .contentLength, .contentRange, .contentType, .trailer,
    ]
}

extension String {
    /// An entity tag without the mark of a weak one, since validation compares weakly (RFC 9110, section 8.8.3.2).
    var opaqueTag: Substring {
        hasPrefix("W/") ? dropFirst(2) : self[...]
    }
}
