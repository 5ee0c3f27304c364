public import HTTPTypes

/// A scheme, a host and a port: whom a request is sent to, and whom credentials are meant for.
///
/// Two origins are the same when all three are, with the default port filled in (RFC 6454, section 5).
public struct Origin: Sendable, Hashable {
    /// The scheme, in lower case.
    public let scheme: String
    /// The host, in lower case; an IPv6 address in brackets.
    public let host: String
    /// The port.
    public let port: Int

    /// Creates an origin from its parts.
    ///
    /// - Parameters:
    ///   - scheme: `http` or `https`.
    ///   - host: The host, an international name in its form with `xn--`; an IPv6 address in brackets.
    ///   - port: The port; nil for the scheme's default.
    /// - Throws: ``InvalidRequestError`` for another scheme, a host that is empty or has characters that no host has,
    ///   or a port out of range.
    public init(scheme: String, host: String, port: Int? = nil) throws(InvalidRequestError) {
        let scheme = scheme.lowercased()
        guard let defaultPort = Self.defaultPort(of: scheme) else { throw .unsupportedScheme(scheme) }
        guard host.isRegisteredName || host.isAddressInBrackets else { throw .invalidHost }
        let port = port ?? defaultPort
        guard (0...65535).contains(port) else { throw .invalidPort }

        self.scheme = scheme
        self.host = host.lowercased()
        self.port = port
    }

    /// Creates the origin of a URL, as in `"https://api.example.com"`.
    ///
    /// - Parameter url: An absolute URL; what follows the authority is ignored.
    /// - Throws: ``InvalidRequestError`` when the URL has no origin.
    public init(_ url: String) throws(InvalidRequestError) {
        let target = try Target(url)
        guard let scheme = target.scheme, let authority = target.authority else { throw .missingOrigin }
        try self.init(scheme: scheme, authority: authority)
    }

    /// Creates the origin that a request is for.
    ///
    /// - Parameter head: The head of the request.
    /// - Throws: ``InvalidRequestError`` when the request has no origin or names one that cannot be sent to.
    public init(_ head: HTTPRequest) throws(InvalidRequestError) {
        guard let scheme = head.scheme, let authority = head.authority else { throw .missingOrigin }
        try self.init(scheme: scheme, authority: authority)
    }

    private init(scheme: String, authority: String) throws(InvalidRequestError) {
        guard !authority.utf8.contains(UInt8(ascii: "@")) else { throw .userinfo }
        let hostEnd = authority.hasPrefix("[") ? authority.firstIndex(of: "]") : authority.startIndex
        guard let hostEnd else { throw .invalidHost }
        guard let colon = authority[hostEnd...].firstIndex(of: ":") else {
            try self.init(scheme: scheme, host: authority)
            return
        }
        let digits = authority[authority.index(after: colon)...]
        if digits.isEmpty {
            try self.init(scheme: scheme, host: String(authority[..<colon]))
            return
        }
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits) else { throw .invalidPort }
        try self.init(scheme: scheme, host: String(authority[..<colon]), port: port)
    }

    private static func defaultPort(of scheme: String) -> Int? {
        switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }

    /// The host, with the port where it is not the scheme's default: the authority of a request.
    public var authority: String {
        port == Self.defaultPort(of: scheme) ? host : "\(host):\(port)"
    }
}

extension Origin: CustomStringConvertible {
    /// The origin as the start of a URL, without a slash at the end.
    public var description: String { "\(scheme)://\(authority)" }
}

extension String {
    /// Whether this is a `reg-name` or an IPv4 address (RFC 3986, section 3.2.2).
    ///
    /// There is no percent-encoding: it hides a character, and whoever decodes it sees another host.
    fileprivate var isRegisteredName: Bool {
        !isEmpty && utf8.allSatisfy { $0.isLetterOrDigit || "-._~!$&'()*+,;=".utf8.contains($0) }
    }

    /// Whether this looks like an `IP-literal` (RFC 3986, section 3.2.2), which may have a zone (RFC 6874).
    fileprivate var isAddressInBrackets: Bool {
        utf8.count > 4 && hasPrefix("[") && hasSuffix("]")
            && utf8.dropFirst().dropLast().allSatisfy { $0.isLetterOrDigit || ":.%-_~".utf8.contains($0) }
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool { (0x30...0x39).contains(self) || (0x61...0x7A).contains(self | 0x20) }
}
