import Foundation

/// The parts of a URL or of a relative reference, each as it is sent (RFC 3986).
package struct Target: Sendable, Equatable {
    var scheme: String?
    var authority: String?
    var path: String
    var fragment: String?

    /// Parses a URL or a relative reference; characters that a URL must not contain are percent-encoded.
    init(_ reference: String) throws(InvalidRequestError) {
        if PlainReference(reference) != nil {
            self.init(plainPath: reference)
            return
        }
        if let parts = PlainURL(reference) {
            self.init(reference, parts)
            return
        }
        // The empty reference means the base itself; Foundation's `URL` cannot represent it.
        guard !reference.isEmpty else {
            self.init(splitting: reference)
            return
        }
        guard reference.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), let url = URL(string: reference) else {
            throw Self.fault(of: reference)
        }
        self.init(url)
    }

    /// The reason why a reference cannot be parsed: that of its host or port, which no percent-encoding mends, or else the
    /// first character that has to be encoded.
    private static func fault(of reference: String) -> InvalidRequestError {
        let target = Target(splitting: reference)
        guard target.scheme == "http" || target.scheme == "https", let authority = target.authority,
            authority.allUTF8({ $0 >= 0x20 })
        else {
            return .invalidURL(reference)
        }
        do {
            _ = try Origin(target)
        } catch {
            return error
        }
        return .invalidURL(reference)
    }

    init(_ url: URL) {
        self.init(splitting: url.relativeString)
    }

    /// Creates the target of a request, whose parts already have the form in which they are sent.
    init(scheme: String?, authority: String?, path: String, fragment: String? = nil) {
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.fragment = fragment
    }

    /// The URL as text; nil for a relative reference.
    var urlText: String? {
        guard let scheme, let authority else { return nil }
        return "\(scheme)://\(authority)\(path)\(fragment.map { "#" + $0 } ?? "")"
    }

    private init(plainPath: String) {
        path = plainPath
    }

    /// Creates the target from the parts of a URL that needs no parser.
    init(_ text: String, _ parts: PlainURL) {
        var text = text
        // This is safe because the bytes are read only inside the closure.
        self = text.withUTF8 { bytes in
            let pathEnd = parts.fragmentStart ?? bytes.count
            let authority = unsafe String(decoding: bytes[parts.schemeEnd + 3..<parts.authorityEnd], as: UTF8.self)
            var path = unsafe String(decoding: bytes[parts.authorityEnd..<pathEnd], as: UTF8.self)
            if path.utf8.first != UInt8(ascii: "/") { path = "/" + path }
            let fragment = parts.fragmentStart.map { unsafe String(decoding: bytes[($0 + 1)...], as: UTF8.self) }
            return Target(
                scheme: parts.schemeEnd == 5 ? "https" : "http", authority: authority, path: path, fragment: fragment)
        }
    }

    /// Splits by RFC 3986, appendix B, so that the bytes stay as they are.
    private init(splitting reference: String) {
        // This compares bytes: the separators are ASCII, and comparing characters takes many times as long.
        var rest = Substring(reference).utf8
        if let hash = rest.firstIndex(of: UInt8(ascii: "#")) {
            fragment = String(Substring(rest[hash...].dropFirst()))
            rest = rest[..<hash]
        }
        let schemeEnd = rest.firstIndex { $0.isSlashOrQuestionMark || $0 == UInt8(ascii: ":") }
        if let schemeEnd, rest[schemeEnd] == UInt8(ascii: ":"), schemeEnd > rest.startIndex {
            scheme = Substring(rest[..<schemeEnd]).inLowerCase
            rest = rest[schemeEnd...].dropFirst()
        }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(where: \.isSlashOrQuestionMark) ?? rest.endIndex
            authority = Substring(rest[..<end]).inLowerCase
            rest = rest[end...]
        }
        path = String(Substring(rest))
        if authority != nil, rest.first != UInt8(ascii: "/") { path = "/" + path }
    }

    /// Resolves a reference against a base URL (RFC 3986, section 5.2).
    static func resolve(_ reference: String, against base: URL) throws(InvalidRequestError) -> Target {
        try resolve(reference, against: Target(base.absoluteURL))
    }

    /// The largest number of bytes of a reference that a server gives: 64 KiB, and no server accepts more.
    package static let longestReference = 1 << 16

    /// Resolves a reference that a server gives.
    static func resolve(given reference: String, against base: Target) throws(InvalidRequestError) -> Target {
        guard reference.utf8.count <= longestReference else { throw .longReference }
        return try resolve(reference, against: base)
    }

    /// Resolves a reference against a base target (RFC 3986, section 5.2.2).
    ///
    /// Foundation's resolution has changed between releases; this one follows the RFC and is strict about schemes.
    static func resolve(_ reference: String, against base: Target) throws(InvalidRequestError) -> Target {
        // Foundation refuses the empty reference, though it is valid.
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
    var withoutDotSegments: Target {
        guard hasDotSegments else { return self }
        let path = path.prefix { $0 != "?" }
        guard path.hasPrefix("/") else { return self }

        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        var kept: [Substring] = []
        for segment in segments where segment != "." {
            if segment == ".." {
                _ = kept.popLast()
            } else {
                kept.append(segment)
            }
        }
        if segments.last == "." || segments.last == ".." { kept.append("") }

        var target = self
        target.path = "/" + kept.joined(separator: "/") + self.path[path.endIndex...]
        return target
    }

    private var hasDotSegments: Bool { path.hasDotSegments }
}

extension String {
    /// Whether a path, perhaps with a query, may have segments to remove, that is a dot after a slash.
    var hasDotSegments: Bool {
        var previous: UInt8 = 0
        var isInQuery = false
        return !allUTF8 { byte in
            isInQuery = isInQuery || byte == UInt8(ascii: "?")
            let isDot = byte == UInt8(ascii: ".") && previous == UInt8(ascii: "/")
            previous = byte
            return !isDot || isInQuery
        }
    }
}

extension InvalidRequestError {
    fileprivate static let longReference = Self(.invalidURL, "The reference of the server has more than 64 KiB.")
}

extension UInt8 {
    fileprivate var isSlashOrQuestionMark: Bool { self == UInt8(ascii: "/") || self == UInt8(ascii: "?") }
}
