import Foundation

/// The parts of a URL or of a reference to one, each as it goes over the wire (RFC 3986).
struct Target: Sendable, Equatable {
    var scheme: String?
    var authority: String?
    var path: String
    var fragment: String?

    /// Parses a URL or a relative reference; what may not stand in a URL is percent-encoded.
    init(_ reference: String) throws(InvalidRequestError) {
        // The empty reference is that of the base itself, which URL has no value for.
        guard !reference.isEmpty else {
            self.init(splitting: reference)
            return
        }
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
        try resolve(reference, against: Target(base.absoluteURL))
    }

    /// Resolves a reference against the target that it was found under (RFC 3986, section 5.2.2).
    ///
    /// Foundation's own resolution has changed between releases; this one is the RFC's, strict about schemes.
    static func resolve(_ reference: String, against base: Target) throws(InvalidRequestError) -> Target {
        // Foundation refuses the empty reference, which is a valid one.
        var target = reference.isEmpty ? Target(splitting: "") : try Target(reference)
        guard target.scheme == nil else { return target.withoutDotSegments }

        target.scheme = base.scheme
        guard target.authority == nil else { return target.withoutDotSegments }

        target.authority = base.authority
        if target.path.hasPrefix("/") { return target.withoutDotSegments }

        let basePath = base.path.prefix { $0 != "?" }
        if target.path.isEmpty {
            target.path = base.path
        } else if target.path.hasPrefix("?") {
            target.path = basePath + target.path
        } else {
            let directory = basePath.lastIndex(of: "/").map { basePath[...$0] } ?? (base.authority == nil ? "" : "/")
            target.path = directory + target.path
            return target.withoutDotSegments
        }
        return target
    }

    /// Removes the segments `.` and `..` from the path, not from the query (RFC 3986, section 5.2.4).
    private var withoutDotSegments: Target {
        let path = path.prefix { $0 != "?" }
        guard path.hasPrefix("/") else { return self }

        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var kept: [Substring] = []
        for segment in segments where segment != "." {
            if segment == ".." {
                kept = kept.dropLast()
            } else {
                kept.append(segment)
            }
        }
        if segments.last == "." || segments.last == ".." { kept.append("") }

        var target = self
        target.path = "/" + kept.joined(separator: "/") + self.path[path.endIndex...]
        return target
    }
}
