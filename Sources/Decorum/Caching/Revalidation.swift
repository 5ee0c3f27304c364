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

    /// Creates a request that validates a stored response (RFC 9110, section 13.1).
    static func validation(of stored: StoredResponse, for request: Request) -> Request {
        var request = request
        Validation.ask(about: [stored], in: &request.head.headerFields)
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
    /// - Returns: The response with refreshed fields, or with unchanged fields if it may not be refreshed; nil when the
    ///   `304` is about another representation.
    static func refresh(
        _ stored: StoredResponse, for request: HTTPRequest, with validation: HTTPResponse, at date: Date
    ) -> StoredResponse? {
        guard Validation.confirmed(by: validation, among: [stored], for: request) != nil else { return nil }
        let head = Validation.freshened(stored.head, by: validation)
        return StoredResponse(head: head, body: stored.body, request: request, date: date)
    }
}
