import Decorum
import Foundation
import HTTPTypes

/// A URL in the fields of an answer that a client requests next: that of `Location` (RFC 9110, section 10.2.2), or that of
/// another page in `Link` (RFC 8288, section 3).
struct FollowedField: Hashable {
    /// The relations by which clients read on.
    private static let relations = ["next", "prev", "previous"]

    let name: String
    /// The type of the relation; nil for `Location`.
    let relation: String?
    /// The URL as the server has written it.
    let reference: String

    /// The URLs in the fields of an answer.
    static func all(in fields: HTTPFields) -> [FollowedField] {
        let response = Response(status: .ok, fields: fields)
        return [location(in: fields)].compactMap(\.self)
            + relations.compactMap { relation in
                response.linkReference(relation).map { .init(name: "Link", relation: relation, reference: $0) }
            }
    }

    /// The URL in `Location`; nil if there is none.
    static func location(in fields: HTTPFields) -> FollowedField? {
        fields[.location].map { FollowedField(name: "Location", relation: nil, reference: $0) }
    }

    /// The whole URL without its fragment; nil if it is none.
    func target(from url: String) -> String? {
        URL(string: url).flatMap { URL(string: reference, relativeTo: $0)?.absoluteString }
            .map { String($0.prefix { $0 != "#" }) }
    }

    /// Whether other fields have such a URL too, whichever it is.
    func isKept(in fields: HTTPFields) -> Bool {
        Self.all(in: fields).contains { $0.name == name && $0.relation == relation }
    }

    /// The difference to fields that lack the URL, which `shown` redacts.
    func loss(in fields: HTTPFields, shown: (String) -> String) -> String {
        let reference = shown(reference)
        let words = relation.map { "<\(reference)>; rel=\"\($0)\"" } ?? reference
        guard let relation, let name = HTTPField.Name(name), fields.contains(name) else {
            return "field `\(name)`  is missing: was \(words)"
        }
        return "field `\(self.name)`  has no rel=\"\(relation)\" any more: was \(words)"
    }
}
