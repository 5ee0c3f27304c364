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

    /// Looks for the parts; returns nil where the URL needs a parser.
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

    /// Looks at a reference; returns nil where it needs a parser, as with a dot after a slash, which may be a segment to
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
    fileprivate var isPlainInHost: Bool {
        // The range has the hyphen, the dot, the slash and the digits.
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
