import Decorum
import Foundation

extension Response {
    /// The response as an error names it: the status, the URL without its query, the route name and the media type.
    ///
    /// It has no secret that `Redaction.standard` knows.
    var summary: String {
        let place = metadata.url.map { url in
            " of " + Redaction.described(String(url.absoluteString.prefix { $0 != "?" && $0 != "#" }))
        }
        let facts = [
            metadata.routeName.map { "route “\(Self.shown($0))”" },
            head.headerFields[.contentType].map(Self.shown),
        ].compactMap { $0 }
        let list = facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))"
        return "response \(status.code)\(place ?? "")\(list)"
    }

    /// Words of a server or a route name on one line, cut to 100 characters.
    static func shown(_ words: String) -> String {
        let line = words.unicodeScalars.map { scalar in
            [.control, .format].contains(scalar.properties.generalCategory) ? " " : String(scalar)
        }
        return String(Redaction.standard.applied(toText: line.joined()).prefix(100))
    }
}
