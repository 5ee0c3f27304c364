import Decorum
import HTTPTypes

/// The change of a recorded answer for a request to another origin than the recorded one, as ``MatchingRule/pathAndQuery`` allows.
///
/// A client that follows a URL of the answer must stay at the server that it has asked. So a URL of the recorded origin gets
/// the origin of the request where a client follows it: in `Location`, `Content-Location` (RFC 9110) and `Link` (RFC 8288).
struct MovedOrigin {
    private static let fields = [.location, .contentLocation, HTTPField.Name("Link")].compactMap(\.self)

    private let recorded: Substring
    private let asked: Substring

    /// The change from the URL of the recorded request to that of the live one; nil where their origins are the same.
    init?(from recorded: String, to asked: String) {
        // Nearly every URL is the recorded one, and to find an origin takes far longer than to compare.
        guard recorded != asked else { return nil }
        (self.recorded, self.asked) = (Self.origin(of: recorded), Self.origin(of: asked))
        guard !self.recorded.isEmpty, !self.asked.isEmpty, self.recorded != self.asked else { return nil }
    }

    func applied(to fields: HTTPFields) -> HTTPFields {
        var fields = fields
        for index in fields.indices where Self.fields.contains(fields[index].name) {
            fields[index].value = applied(to: fields[index].value)
        }
        return fields
    }

    /// A value in which each URL of the recorded origin has the other one; such a URL begins the value, or stands in `<` and `>`.
    private func applied(to value: String) -> String {
        var moved = ""
        var rest = value[...]
        while let found = rest.firstRange(of: recorded) {
            let (before, after) = (value[..<found.lowerBound].last, value[found.upperBound...].first)
            let isURL = before.map { $0 == "<" } ?? true
            let isWhole = after.map { "/?#>".contains($0) } ?? true
            moved += rest[..<found.lowerBound] + (isURL && isWhole ? asked : recorded)
            rest = rest[found.upperBound...]
        }
        return moved + rest
    }

    /// The scheme and the authority of a URL; empty for another text.
    private static func origin(of url: String) -> Substring {
        guard let scheme = url.firstRange(of: "://") else { return "" }
        return url[..<(url[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex)]
    }
}
