public import Foundation
public import HTTPTypes

/// An answer: its head, its body, which may still be arriving, and metadata from the layers.
public struct Response: Sendable {
    /// The status and the header fields.
    public var head: HTTPResponse { didSet { code = head.status.code } }
    // Most layers ask for it, and reading it from the head takes longer than a layer that does nothing.
    /// The code of the status.
    package private(set) var code: Int
    /// The content, which owns its transfer: dropping it unread ends the transfer.
    public var body: Body
    /// The source of the response, and what the layers did to get it.
    public var metadata: ResponseMetadata

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - head: The status and the header fields.
    ///   - body: The content.
    ///   - metadata: Facts about the response that its head does not hold.
    public init(head: HTTPResponse, body: Body = .empty, metadata: ResponseMetadata = ResponseMetadata()) {
        self.init(head: head, code: head.status.code, body: body, metadata: metadata)
    }

    /// Creates a response with a head whose code is known already.
    init(head: HTTPResponse, code: Int, body: Body, metadata: ResponseMetadata) {
        (self.head, self.code, self.body, self.metadata) = (head, code, body, metadata)
    }

    /// Creates a response from a status.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The header fields; no `Content-Length` is added.
    ///   - body: The content.
    public init(status: HTTPResponse.Status, fields: HTTPFields = [:], body: Body = .empty) {
        self.init(head: HTTPResponse(status: status, headerFields: fields), body: body)
    }

    /// The status of the response.
    public var status: HTTPResponse.Status {
        get { head.status }
        set { head.status = newValue }
    }
}

extension Response: SecretHolder {
    /// The status and the source; never fields or content.
    public var description: String {
        "\(status.code)" + (metadata.source.map { " from \($0)" } ?? "")
    }
}

extension Response {
    /// The URL of a link in the field `Link` of the response, such as that of the next page (RFC 8288).
    ///
    /// ```swift
    /// var next: Request? = try .get("items?per_page=100")
    /// while let request = next {
    ///     let response = try await connection.send(request)
    ///     items += try await response.decode([Item].self, upTo: 1 << 20)
    ///     next = try response.link("next").map { try .get($0.absoluteString) }
    /// }
    /// ```
    ///
    /// The server chooses the URL, which may be one of another origin: credentials go only to the origins that you name for
    /// them. A relative reference is resolved against ``ResponseMetadata/url``.
    ///
    /// - Parameter relation: The type of the relation, as in `next`, `prev` or `last`, in any letter case.
    /// - Returns: The URL of the first such link; nil without one, for a link of another resource (`anchor`), an invalid URL,
    ///   one of more than 64 KiB, and a relative reference in a response without a URL.
    public func link(_ relation: String) -> URL? {
        guard let reference = linkReference(relation) else { return nil }
        let base = metadata.url.map { Target($0.absoluteURL) } ?? Target(scheme: nil, authority: nil, path: "")
        return (try? Target.resolve(given: reference, against: base))?.urlText.flatMap { URL(string: $0) }
    }

    /// The reference of a link in the field `Link` as the server has written it, which may be relative, or no valid URL.
    package func linkReference(_ relation: String) -> String? {
        let relation = relation.lowercased()
        return WebLink.links(in: head.headerFields).first { !$0.hasAnchor && $0.relations.contains(relation) }?.target
    }
}
