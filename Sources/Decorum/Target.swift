import DecorumSecrets
import Foundation
import HTTPTypes

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
        guard reference.allUTF8({ $0 > 0x20 && $0 != 0x7F }), let url = URL(string: reference) else {
            throw Self.fault(of: reference)
        }
        self.init(url)
    }

    /// The reason why a reference cannot be parsed: its host or port, which no percent-encoding mends, or its characters.
    private static func fault(of reference: String) -> InvalidRequestError {
        let target = Target(splitting: reference)
        guard target.scheme == "http" || target.scheme == "https", let authority = target.authority,
            authority.allUTF8({ $0 >= 0x20 })
        else {
            return .invalidURL
        }
        do {
            _ = try Origin(target)
        } catch {
            return error
        }
        return .invalidURL
    }

    init(_ url: URL) {
        self.init(splitting: url.relativeString)
    }

    /// Creates the target of a request, whose parts already have the form in which they are sent.
    init(scheme: String?, authority: String?, path: String, fragment: String? = nil) {
        (self.scheme, self.authority, self.path, self.fragment) = (scheme, authority, path, fragment)
    }

    /// Creates the target of a request; nil while it has no origin.
    init?(_ request: HTTPRequest, fragment: String?) {
        guard let scheme = request.scheme, let authority = request.authority else { return nil }
        let path = request.path ?? "/"
        // The target URI of `OPTIONS *` has no path (RFC 9112, section 3.3).
        self.init(scheme: scheme, authority: authority, path: path == "*" ? "" : path, fragment: fragment)
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

/// Where the parts of a URL end that no parser would change.
///
/// It has `http` or `https` in lower case, a host of letters in lower case, digits, hyphens and dots, perhaps a port, and
/// after that only characters that are allowed where they stand (RFC 3986, sections 3.3 to 3.5). One pass over the bytes
/// shows it, so that the URLs of most requests need no parser.
struct PlainURL: Sendable, Equatable {
    /// The offset of the colon after the scheme.
    let schemeEnd: Int
    /// The offset after the host and the port.
    let authorityEnd: Int
    /// Whether a port follows the host, of which only the characters have been checked.
    let hasPort: Bool
    /// The offset of the number sign; nil without a fragment.
    let fragmentStart: Int?

    /// Looks for the parts; returns nil if the URL needs a parser.
    init?(_ text: String) {
        // This is safe because the bytes are read only inside the closure.
        let parts = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in unsafe PlainURL(bytes) }
        guard let parts = parts ?? nil else { return nil }
        self = parts
    }

    private init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count >= 8, unsafe bytes[0] == UInt8(ascii: "h"), unsafe bytes[1] == UInt8(ascii: "t"),
            unsafe bytes[2] == UInt8(ascii: "t"), unsafe bytes[3] == UInt8(ascii: "p")
        else { return nil }
        schemeEnd = unsafe bytes[4] == UInt8(ascii: "s") ? 5 : 4
        guard unsafe bytes[schemeEnd] == UInt8(ascii: ":"), unsafe bytes[schemeEnd + 1] == UInt8(ascii: "/"),
            unsafe bytes[schemeEnd + 2] == UInt8(ascii: "/"),
            let ends = unsafe Self.ends(in: bytes, from: schemeEnd + 3)
        else { return nil }
        (authorityEnd, hasPort, fragmentStart) = ends
    }

    private static func ends(
        in bytes: UnsafeBufferPointer<UInt8>, from start: Int
    ) -> (authorityEnd: Int, hasPort: Bool, fragmentStart: Int?)? {
        var position = start
        while position < bytes.count, unsafe bytes[position].isPlainInHost { position += 1 }
        guard position > start else { return nil }
        let hasPort = unsafe position < bytes.count && bytes[position] == UInt8(ascii: ":")
        if hasPort {
            position += 1
            while position < bytes.count, unsafe bytes[position].isDigit { position += 1 }
        }
        let authorityEnd = position
        guard position < bytes.count else { return (authorityEnd, hasPort, nil) }
        switch unsafe bytes[position] {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): break
        default: return nil
        }

        var fragmentStart: Int?
        while position < bytes.count {
            switch unsafe bytes[position] {
            case UInt8(ascii: "#"):
                guard fragmentStart == nil else { return nil }
                fragmentStart = position
            default: guard unsafe bytes.isPlainInPath(at: position) else { return nil }
            }
            position += 1
        }
        return (authorityEnd, hasPort, fragmentStart)
    }
}

/// A path, perhaps with a query, of characters that stay as they are, so that no parser would change it.
enum PlainReference {
    /// It begins with a slash, and not with two.
    case fromRoot
    /// It begins with a name, which is no scheme.
    case relative

    /// Looks at a reference; returns nil if it needs a parser, as with a dot after a slash, which may be a segment to
    /// remove.
    init?(_ text: String) {
        // This is safe because the bytes are read only inside the closure.
        let found = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in unsafe PlainReference(bytes) }
        guard let found = found ?? nil else { return nil }
        self = found
    }

    private init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        // A lone asterisk is the server as a whole, for OPTIONS.
        guard let first = unsafe bytes.first, first != UInt8(ascii: "."), first != UInt8(ascii: "?"),
            first != UInt8(ascii: "*")
        else { return nil }
        self = first == UInt8(ascii: "/") ? .fromRoot : .relative
        var isInFirstSegment = true
        var isInQuery = false
        for position in bytes.indices {
            let byte = unsafe bytes[position]
            guard unsafe bytes.isPlainInPath(at: position) else { return nil }
            switch byte {
            case UInt8(ascii: "?"): (isInQuery, isInFirstSegment) = (true, false)
            case UInt8(ascii: "/"):
                if position > 0 { isInFirstSegment = false }
                if position == 1, first == byte { return nil }
            case UInt8(ascii: "."):
                if unsafe !isInQuery && position > 0 && bytes[position - 1] == UInt8(ascii: "/") { return nil }
            case UInt8(ascii: ":"):
                if isInFirstSegment, first != UInt8(ascii: "/") { return nil }
            default: break
            }
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether the byte is allowed in a path and in a query, which a percent sign is with two digits after it.
    @inline(__always) fileprivate func isPlainInPath(at position: Int) -> Bool {
        let byte = unsafe self[position]
        guard byte == UInt8(ascii: "%") else { return byte.isPlainInPath }
        return unsafe position + 2 < count && self[position + 1].isHexadecimalDigit
            && self[position + 2].isHexadecimalDigit
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
    fileprivate var isHexadecimalDigit: Bool { isDigit || (self | 0x20) &- UInt8(ascii: "a") < 6 }
    fileprivate var isLetter: Bool { (self | 0x20) &- UInt8(ascii: "a") < 26 }

    /// Whether this is a character of most hosts.
    var isPlainInHost: Bool {
        // Letters are the most of a host. The range after them has the hyphen, the dot, the slash and the digits.
        self &- UInt8(ascii: "a") < 26 || (0x2D...0x39).contains(self) && self != UInt8(ascii: "/")
    }

    /// Whether this is allowed in a path and in a query wherever it stands.
    fileprivate var isPlainInPath: Bool {
        // The ranges have the unreserved characters, the delimiters of parts (`sub-delims`), the colon, the at sign, the
        // slash and the question mark.
        switch self {
        case UInt8(ascii: "&")...UInt8(ascii: ";"), UInt8(ascii: "?")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "="), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }
}
