public import Foundation

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
    /// - Returns: The URL of the first such link; nil where there is none, and for a link of another resource (`anchor`), an
    ///   invalid URL, one of more than 64 KiB, and a relative reference in a response without a URL.
    public func link(_ relation: String) -> URL? {
        guard let reference = linkReference(relation) else { return nil }
        let base = metadata.url.map { Target($0.absoluteURL) } ?? Target(scheme: nil, authority: nil, path: "")
        return (try? Target.resolve(given: reference, against: base))?.urlText.flatMap { URL(string: $0) }
    }

    /// The reference of a link in the field `Link` as the server has written it, which may be relative, or no valid URL.
    ///
    /// It tells a link that ``link(_:)`` cannot use from one that is not there.
    ///
    /// - Parameter relation: The type of the relation, in any letter case.
    /// - Returns: The reference of the first such link; nil where there is none, and for a link of another resource (`anchor`).
    public func linkReference(_ relation: String) -> String? {
        let relation = relation.lowercased()
        return WebLink.links(in: head.headerFields).first { !$0.hasAnchor && $0.relations.contains(relation) }?.target
    }
}
