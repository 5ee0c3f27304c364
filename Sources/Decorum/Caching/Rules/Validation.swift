import Foundation
import HTTPTypes

/// Validation of stored responses, and the handling of the server's answer (RFC 9111, section 4.3).
enum Validation {
    /// Adds the validators of stored responses to a request.
    ///
    /// The tags of a caller are not changed. Its date is not changed either, unless the request selects the only stored
    /// response: otherwise a `304` would not show whether it answers the condition of the caller or of the cache. A
    /// response for another cookie is asked about by its strong tag alone. With `byDate`, `Date` stands in for a validator
    /// that a response lacks (RFC 9110, section 13.1.3).
    static func ask(about stored: [StoredResponse], in fields: inout HTTPFields, byDate: Bool = false) {
        let isForOtherCookie = stored.contains { $0.cookieDiffers(from: fields) }
        // A date cannot distinguish variants.
        let dated =
            stored.count == 1 && !isForOtherCookie ? stored.first { SelectingFields.match($0, fields) } : nil
        guard !fields.contains(.ifNoneMatch), dated != nil || !fields.contains(.ifModifiedSince) else { return }
        let tags = stored.compactMap {
            isForOtherCookie ? PartialContent.strongTag(of: $0.head) : $0.head.headerFields.firstValue(of: .eTag)
        }
        if let tag = tags.first { fields[.ifNoneMatch] = tags.count == 1 ? tag : tags.joined(separator: ", ") }
        let date = dated.flatMap {
            let held = $0.head.headerFields
            return held.firstValue(of: byDate && !held.hasValidator ? .date : .lastModified)
        }
        if date != nil || fields.contains(.ifModifiedSince) { fields[.ifModifiedSince] = date }
    }

    /// The stored response that a `304` confirms (RFC 9111, section 4.3.4); nil when it confirms no stored response.
    static func confirmed(
        by validation: HTTPResponse, among stored: [StoredResponse], for request: HTTPRequest
    ) -> StoredResponse? {
        let strongTag = PartialContent.strongTag(of: validation)
        if let strongTag, let same = stored.first(where: { PartialContent.strongTag(of: $0.head) == strongTag }) {
            return same
        }
        // Only a strong tag distinguishes variants: all variants may have the same weak tag and the same date.
        guard stored.count == 1, let only = stored.first, only.isSelected(by: request) else { return nil }
        if only.cookieDiffers(from: request) { return answersOnlyTag(validation, of: only, for: request) ? only : nil }
        let fields = validation.headerFields
        let storedFields = only.head.headerFields
        if let tag = fields.firstValue(of: .eTag), let storedTag = storedFields.firstValue(of: .eTag) {
            return tag.opaqueTag == storedTag.opaqueTag ? only : nil
        }
        guard strongTag == nil else { return nil }
        // The `304` is about a tag of the caller.
        guard !request.headerFields.contains(.ifNoneMatch) else { return nil }
        guard let modified = fields.firstValue(of: .lastModified),
            let storedModified = storedFields.firstValue(of: .lastModified)
        else { return only }
        return modified == storedModified ? only : nil
    }

    /// Whether a `304` without a tag can only be about the strong tag that the cache has sent.
    private static func answersOnlyTag(
        _ validation: HTTPResponse, of stored: StoredResponse, for request: HTTPRequest
    ) -> Bool {
        let fields = request.headerFields
        return !validation.headerFields.contains(.eTag) && PartialContent.strongTag(of: stored.head) != nil
            && !fields.contains(.ifNoneMatch) && !fields.contains(.ifModifiedSince)
    }

    /// Whether a `304` may refresh the stored response that it confirms (RFC 9111, section 4.3.4).
    ///
    /// With a strong tag, the content is the same byte for byte. A stored response with an equal weak tag is current
    /// too, since validation compares weakly. It may be used as the answer, but is not changed.
    static func mayRefresh(_ stored: HTTPResponse, by validation: HTTPResponse) -> Bool {
        guard let strongTag = PartialContent.strongTag(of: validation) else { return true }
        return PartialContent.strongTag(of: stored) == strongTag
    }

    /// Updates the fields of a stored response by a `304` that confirms it, if it may be refreshed.
    static func freshened(_ head: HTTPResponse, by validation: HTTPResponse) -> HTTPResponse {
        freshened(head, with: mayRefresh(head, by: validation) ? validation.headerFields : [:])
    }

    /// Updates the fields of a stored response by a `304` or a response to `HEAD` (RFC 9111, section
    /// 3.2).
    static func freshened(_ head: HTTPResponse, with update: HTTPFields) -> HTTPResponse {
        var head = head
        // A cookie is set by its first response; setting it again would replace a new session by an old one.
        if head.headerFields.contains(.setCookie) { head.headerFields[.setCookie] = nil }
        // They state the age of the earlier message, which no longer applies. A date that may be the only validator stays,
        // since the date of the client's clock would hide a change.
        let outdated = head.headerFields.hasValidator ? [HTTPField.Name.age, .date] : [.age]
        for name in outdated where !update.contains(name) && head.headerFields.contains(name) {
            head.headerFields[name] = nil
        }
        let connectionFields = update.connectionFields
        // Each list is read once, since a server may send thousands of fields.
        let names = Set(
            update.lazy.map(\.name).filter { name in
                !keptFields.contains(name) && !StoringRules.unstoredFields.contains(name)
                    && !connectionFields.contains(name)
            })
        head.headerFields.removeAll { names.contains($0.name) }
        head.headerFields.append(contentsOf: update.lazy.filter { names.contains($0.name) })
        return head
    }

    /// The effect of a response to `HEAD` on the stored response to `GET` that it selects.
    enum HeadEffect: Sendable {
        case none
        case refreshed
        case forgotten
    }

    /// Returns the effect of a response to `HEAD` on a stored response (RFC 9111, section 4.3.5).
    static func effect(ofHead head: HTTPResponse, on stored: StoredResponse) -> HeadEffect {
        switch (head.status.code, stored.head.status.code) {
        case (200, 200): isUpdate(head, of: stored) ? .refreshed : .forgotten
        case (200, 206), (404, 404), (410, 410): .none
        case (200, _), (404, _), (410, _): .forgotten
        default: .none
        }
    }

    /// Whether a response to `HEAD` is about the content that is stored.
    private static func isUpdate(_ head: HTTPResponse, of stored: StoredResponse) -> Bool {
        let fields = head.headerFields
        let storedFields = stored.head.headerFields
        let sameValidators = [HTTPField.Name.eTag, .lastModified].allSatisfy { name in
            fields.firstValue(of: name).map { $0 == storedFields.firstValue(of: name) } ?? true
        }
        let length = fields.firstValue(of: .contentLength).flatMap { Int64($0) }
        return sameValidators && (length == nil || stored.body.length == nil || length == stored.body.length)
    }

    /// The fields that describe the stored content, which a `304` does not carry; its tag is the same, or a stronger
    /// one.
    private static let keptFields: Set<HTTPField.Name> = [
        .contentEncoding, .contentLength, .contentRange, .contentType, .eTag, .trailer,
    ]
}

extension String {
    /// An entity tag without the mark of a weak one, since validation compares weakly (RFC 9110, section 8.8.3.2).
    var opaqueTag: Substring {
        hasPrefix("W/") ? dropFirst(2) : self[...]
    }
}
