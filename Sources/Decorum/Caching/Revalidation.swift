import Foundation
import HTTPTypes

/// The rules of ``Connection/revalidating(in:answering:clock:)``, as functions of values.
enum Revalidation {
    private static let preconditions = FieldNames([
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .ifRange, .range,
    ])

    /// Whether a request may be answered from a stored response, and its response may be stored.
    static func applies(to request: Request, whenBaseAddsCredentials baseAddsCredentials: Bool) -> Bool {
        guard request.head.method == .get || request.head.method == .head, request.body.isEmpty else { return false }
        guard !baseAddsCredentials || request.options.principal != nil else { return false }
        let fields = request.head.headerFields
        for index in fields.indices where preconditions.contains(fields[index].name) { return false }
        return !CacheControl(fields).contains("no-store")
    }

    /// Makes a request that asks whether a stored response is current (RFC 9110, section 13.1).
    static func validation(of stored: StoredResponse, for request: Request) -> Request {
        var request = request
        // Both fields are missing, or the request would have passed.
        if let tag = stored.head.headerFields.firstValue(of: .eTag) {
            request.head.headerFields.append(HTTPField(name: .ifNoneMatch, value: tag))
        }
        if let date = stored.head.headerFields.firstValue(of: .lastModified) {
            request.head.headerFields.append(HTTPField(name: .ifModifiedSince, value: date))
        }
        return request
    }

    /// Whether a response can be validated later and may be stored (RFC 9111, section 3).
    static func mayStore(_ response: HTTPResponse) -> Bool {
        let fields = response.headerFields
        guard fields.contains(.eTag) || fields.contains(.lastModified) else { return false }
        return !CacheControl(fields).contains("no-store") && !Vary(fields).isAny
    }

    /// Updates a stored response with the fields of a `304` (RFC 9111, sections 3.2 and 4.3.4).
    ///
    /// - Returns: The response with refreshed fields; nil when the `304` is about another representation.
    static func refresh(
        _ stored: StoredResponse, for request: HTTPRequest, with validation: HTTPResponse, at date: Date
    ) -> StoredResponse? {
        let validator = validation.headerFields.firstValue(of: .eTag)
        let storedValidator = stored.head.headerFields.firstValue(of: .eTag)
        if let validator, let storedValidator, validator.opaqueTag != storedValidator.opaqueTag { return nil }

        var head = stored.head
        // A cookie is set by the response that brings it; once more would put an old session in place of a new one.
        if head.headerFields.contains(.setCookie) { head.headerFields[.setCookie] = nil }
        let update = validation.headerFields
        let connectionFields = connectionFields(in: update)
        for (index, field) in update.enumerated() where !update[..<index].contains(where: { $0.name == field.name }) {
            guard !keptFields.contains(field.name), !connectionFields.contains(field.name) else { continue }
            guard !head.headerFields.hasSame(field.name, as: update) else { continue }
            head.headerFields[fields: field.name] = update[fields: field.name]
        }
        return StoredResponse(head: head, body: stored.body, request: request, date: date)
    }

    /// The fields that a `304` does not update: those of the connection, and those that describe the stored content.
    private static let keptFields: Set<HTTPField.Name> = [
        .connection, .contentEncoding, .contentLength, .contentRange, .contentType, .proxyAuthenticate, .te,
        .trailer, .transferEncoding, .upgrade,
    ]

    /// The fields that a message says to be its connection's (RFC 9110, section 7.6.1).
    private static func connectionFields(in fields: HTTPFields) -> Set<HTTPField.Name> {
        var names: Set<HTTPField.Name> = []
        for field in fields where field.name == .connection {
            names.formUnion(ListMembers(field.value).compactMap { HTTPField.Name(String($0)) })
        }
        return names
    }
}
