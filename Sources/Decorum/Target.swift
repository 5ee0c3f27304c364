import Foundation

/// The parts of a URL or of a reference to one, each as it goes over the wire (RFC 3986).
struct Target: Sendable, Equatable {
    var scheme: String?
    var authority: String?
    var path: String
    var fragment: String?

    /// Parses a URL or a relative reference; what may not stand in a URL is percent-encoded.
    init(_ reference: String) throws(InvalidRequestError) {
        guard reference.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), let url = URL(string: reference) else {
            throw .invalidURL
        }
        self.init(url)
    }

    init(_ url: URL) {
        self.init(splitting: url.relativeString)
    }

    /// Splits by RFC 3986, appendix B, so that the bytes stay as they are.
    private init(splitting reference: String) {
        var rest = Substring(reference)
        if let hash = rest.firstIndex(of: "#") {
            fragment = String(rest[rest.index(after: hash)...])
            rest = rest[..<hash]
        }
        if let colon = rest.firstIndex(where: { ":/?".contains($0) }), rest[colon] == ":", colon > rest.startIndex {
            scheme = rest[..<colon].lowercased()
            rest = rest[rest.index(after: colon)...]
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(where: { "/?".contains($0) }) ?? rest.endIndex
            authority = rest[..<end].lowercased()
            rest = rest[end...]
        }
        path = authority != nil && !rest.hasPrefix("/") ? "/" + rest : String(rest)
    }

    /// Resolves a reference against the URL that it was found under (RFC 3986, section 5.2).
    static func resolve(_ reference: String, against base: URL) throws(InvalidRequestError) -> Target {
        guard let url = URL(string: reference, relativeTo: base)?.absoluteURL else { throw .invalidURL }
        return Target(url)
    }
}
