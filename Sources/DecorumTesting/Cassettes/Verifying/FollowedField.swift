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

    /// The URL of a live answer in place of this one, which is that of an answer to the request of `recorded`; nil if there is
    /// none, or if a client may refuse it: it leads to another origin, as the recorded one did not.
    func successor(in live: Interaction, recordedFor request: RecordedRequest) -> FollowedField? {
        live.response.flatMap { counterpart(in: $0.fields) }.flatMap { other in
            other.staysAtOrigin(of: live.request) || !staysAtOrigin(of: request) ? other : nil
        }
    }

    private func counterpart(in fields: HTTPFields) -> FollowedField? {
        Self.all(in: fields).first { $0.name == name && $0.relation == relation }
    }

    private func staysAtOrigin(of request: RecordedRequest) -> Bool {
        let urls = [request.url, target(from: request.url)].map { $0.flatMap(URL.init(string:)) }
        guard let old = urls[0].flatMap({ try? Origin($0) }) else { return true }
        return urls[1].flatMap { try? Origin($0) } == old
    }

    private func words(shown: (String) -> String) -> String {
        relation.map { "<\(shown(reference))>; rel=\"\($0)\"" } ?? shown(reference)
    }

    /// The difference to fields that lack the URL, or have one at another origin; `shown` redacts a URL.
    func loss(in fields: HTTPFields, shown: (String) -> String) -> String {
        let words = words(shown: shown)
        if let other = counterpart(in: fields) {
            return "field `\(name)`  leads to another origin, which a client may refuse: was \(words), is "
                + other.words(shown: shown)
        }
        guard let relation, let name = HTTPField.Name(name), fields.contains(name) else {
            return "field `\(name)`  is missing: was \(words)"
        }
        return "field `\(self.name)`  has no rel=\"\(relation)\" any more: was \(words)"
    }
}
