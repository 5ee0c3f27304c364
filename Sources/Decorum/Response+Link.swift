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
    ///   invalid URL, and a relative reference in a response without a URL.
    public func link(_ relation: String) -> URL? {
        let links = WebLink.links(in: head.headerFields)
        guard let link = links.first(where: { !$0.hasAnchor && $0.relations.contains(relation.lowercased()) }) else {
            return nil
        }
        let target = metadata.url.map { try? Target.resolve(link.target, against: $0) } ?? (try? Target(link.target))
        return target?.urlText.flatMap { URL(string: $0) }
    }
}
