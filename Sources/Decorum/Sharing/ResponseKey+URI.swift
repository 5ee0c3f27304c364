public import HTTPTypes

extension ResponseKey {
    /// A URI without its fragment, in its normal form.
    ///
    /// Two spellings of one URI are the same value (RFC 3986, section 6.2): the scheme and the host are in lower case,
    /// the default port is left out, unreserved characters are not percent-encoded, escapes are in upper case, dot
    /// segments are removed, and an empty path is `/`.
    public struct URI: Sendable, Hashable {
        // The URI is kept in parts, since joining them for each request takes longer than looking up the key.
        let scheme: String
        let authority: String
        let path: String
        private let hash: Int

        /// Creates the URI of a request.
        ///
        /// - Parameter request: The head of a request; the result is nil for a request without an origin.
        public init?(_ request: HTTPRequest) {
            guard let scheme = request.scheme, let authority = request.authority else { return nil }
            self.init(scheme: scheme, authority: authority, path: request.path ?? "/")
        }

        init(scheme: String, authority: String, path: String) {
            let scheme = scheme == "https" ? scheme : scheme.inLowerCase
            self.scheme = scheme
            self.authority = NormalForm.authority(authority, scheme: scheme)
            self.path = NormalForm.path(path)
            var hasher = Hasher()
            hasher.combine(self.authority)
            hasher.combine(self.path)
            hash = hasher.finalize()
        }

        /// Returns whether all parts of both URIs are the same.
        public static func == (lhs: URI, rhs: URI) -> Bool {
            lhs.hash == rhs.hash && lhs.path == rhs.path && lhs.authority == rhs.authority && lhs.scheme == rhs.scheme
        }

        /// Hashes the authority and the path.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(hash)
        }

        /// The hash of the authority and the path.
        public var hashValue: Int { hash }

        /// Whether both URIs have one scheme, host and port.
        func hasSameOrigin(as other: URI) -> Bool {
            authority == other.authority && scheme == other.scheme
        }

        var byteCount: Int { scheme.utf8.count + authority.utf8.count + path.utf8.count }
    }
}

extension ResponseKey.URI: CustomStringConvertible, CustomReflectable {
    /// The URI, without the secrets that ``Redaction/standard`` knows.
    public var description: String { Redaction.described("\(scheme)://\(authority)\(path)") }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The normal forms of the parts of a URI (RFC 3986, section 6.2).
///
/// Nearly all parts are in this form already, which one pass over their bytes shows.
private enum NormalForm {
    static func authority(_ authority: String, scheme: String) -> String {
        guard !authority.isPlainHost else { return authority }
        // The user name is not a part of the host, and its letter case counts.
        let userEnd = authority.utf8.lastIndex(of: UInt8(ascii: "@"))
        let hostStart = userEnd.map { authority.utf8.index(after: $0) } ?? authority.startIndex
        let server = authority[hostStart...]
        let addressEnd =
            server.utf8.first == UInt8(ascii: "[")
            ? server.utf8.firstIndex(of: UInt8(ascii: "]")).map(server.utf8.index(after:)) : server.startIndex
        // Only an address in brackets has colons, and its port follows at once.
        guard let addressEnd, let colon = server.utf8[addressEnd...].firstIndex(of: UInt8(ascii: ":")),
            server.utf8[colon...].lastIndex(of: UInt8(ascii: ":")) == colon,
            addressEnd == server.startIndex || addressEnd == colon
        else { return "\(authority[..<hostStart])\(server.inLowerCase)" }
        let host = "\(authority[..<hostStart])\(server[..<colon].inLowerCase)"
        let digits = server[colon...].dropFirst()
        guard !digits.isEmpty else { return host }
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits) else {
            return "\(host):\(digits.inLowerCase)"
        }
        let isDefault = scheme == "https" && port == 443 || scheme == "http" && port == 80
        return isDefault ? host : "\(host):\(port)"
    }

    static func path(_ path: String) -> String {
        guard !path.isPlainPath else { return path }
        guard let first = path.utf8.first else { return "/" }
        let rooted = first == UInt8(ascii: "?") ? "/" + path : path
        let target = Target(scheme: nil, authority: nil, path: escapes(rooted) ?? rooted)
        return target.withoutDotSegments.path
    }

    /// Decodes unreserved characters and writes the other escapes in upper case; nil when there is no escape or an
    /// invalid one.
    private static func escapes(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.contains(UInt8(ascii: "%")) else { return nil }
        var normal: [UInt8] = []
        normal.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "%") else {
                normal.append(bytes[index])
                index += 1
                continue
            }
            guard index + 2 < bytes.count, let high = PercentCoding.hexDigit(bytes[index + 1]),
                let low = PercentCoding.hexDigit(bytes[index + 2])
            else { return nil }
            let byte = high << 4 | low
            // Encoding leaves unreserved characters as they are.
            normal += PercentCoding.encode(CollectionOfOne(byte))
            index += 3
        }
        return String(decoding: normal, as: UTF8.self)
    }
}

extension String {
    /// Whether this is an absolute path, perhaps with a query, without an escape and without a dot after a slash.
    fileprivate var isPlainPath: Bool {
        var previous: UInt8 = 0
        return utf8.first == UInt8(ascii: "/")
            && allUTF8 { byte in
                let mayChange =
                    byte == UInt8(ascii: "%") || byte == UInt8(ascii: ".") && previous == UInt8(ascii: "/")
                previous = byte
                return !mayChange
            }
    }
}

extension ResponseKey.URI {
    /// Creates the URI that a field of a response to a request refers to; nil for an invalid reference.
    init?(_ reference: String, relativeTo request: HTTPRequest) {
        let base = Target(scheme: request.scheme, authority: request.authority, path: request.path ?? "/")
        guard let target = try? Target.resolve(given: reference, against: base),
            let scheme = target.scheme, let authority = target.authority
        else { return nil }
        self.init(scheme: scheme, authority: authority, path: target.path)
    }
}
