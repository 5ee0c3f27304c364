public import Foundation
public import HTTPTypes

/// A scheme, a host and a port: the server that a request is sent to or that credentials are meant for.
///
/// Two origins are the same when all three parts are the same, with the default port filled in (RFC 6454, section 5).
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
    ///   - host: The host; an international name in its `xn--` form, an IPv6 address in brackets.
    ///   - port: The port; nil for the scheme's default.
    /// - Throws: ``InvalidRequestError`` for another scheme, a host that is empty or has characters that no host has,
    ///   or a port out of range.
    public init(scheme: String, host: String, port: Int? = nil) throws(InvalidRequestError) {
        let scheme = scheme.inLowerCase
        guard let defaultPort = Self.defaultPort(of: scheme) else { throw .unsupportedScheme(scheme) }
        guard host.isRegisteredName || host.isAddressInBrackets else { throw .invalidHost }
        let port = port ?? defaultPort
        guard (0...65535).contains(port) else { throw .invalidPort }

        self.scheme = scheme
        self.host = host.inLowerCase
        self.port = port
    }

    /// Creates the origin of a URL, as in `"https://api.example.com"`.
    ///
    /// - Parameter text: A scheme, a host, and perhaps a port; everything after them is ignored.
    /// - Throws: ``InvalidRequestError`` when the text is no URL with an origin.
    public init(_ text: String) throws(InvalidRequestError) {
        try self.init(Target(text))
    }

    /// Creates the origin of a URL.
    ///
    /// - Parameter url: An absolute URL; everything after the authority is ignored.
    /// - Throws: ``InvalidRequestError`` when the URL has no origin.
    public init(_ url: URL) throws(InvalidRequestError) {
        try self.init(Target(url.absoluteURL))
    }

    init(_ target: Target) throws(InvalidRequestError) {
        try self.init(scheme: target.scheme, authority: target.authority)
    }

    /// Creates the origin that a request is for.
    ///
    /// - Parameter head: The head of the request.
    /// - Throws: ``InvalidRequestError`` when the request has no origin or names one that cannot be sent to.
    public init(_ head: HTTPRequest) throws(InvalidRequestError) {
        try self.init(scheme: head.scheme, authority: head.authority)
    }

    init(scheme: String?, authority: String?) throws(InvalidRequestError) {
        guard let scheme, let authority else { throw .incomplete(scheme: scheme, authority: authority) }
        // Nearly every authority is a plain host, which one pass over its bytes detects.
        if let port = Self.defaultPort(of: scheme), let plain = authority.plainHostAndPort {
            self.init(scheme: scheme, plainHost: plain.host, port: plain.port ?? port)
            return
        }
        guard !authority.utf8.contains(UInt8(ascii: "@")) else { throw .userinfo }
        let bytes = authority.utf8
        let hostEnd =
            bytes.first == UInt8(ascii: "[") ? bytes.firstIndex(of: UInt8(ascii: "]")) : bytes.startIndex
        guard let hostEnd else { throw .invalidHost }
        guard let colon = bytes[hostEnd...].firstIndex(of: UInt8(ascii: ":")) else {
            try self.init(scheme: scheme, host: authority)
            return
        }
        let digits = authority[bytes.index(after: colon)...]
        if digits.isEmpty {
            try self.init(scheme: scheme, host: String(authority[..<colon]))
            return
        }
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits) else {
            throw .invalidPort
        }
        try self.init(scheme: scheme, host: String(authority[..<colon]), port: port)
    }

    private init(scheme: String, plainHost: String, port: Int) {
        self.scheme = scheme
        host = plainHost
        self.port = port
    }

    /// Whether a head has exactly this origin's scheme and host, and no port; a head for which this is false may still
    /// have the same origin.
    func isPlainOrigin(of head: HTTPRequest) -> Bool {
        head.authority == host && head.scheme == scheme && port == Self.defaultPort(of: scheme)
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
        port == Self.defaultPort(of: scheme) ? host : hostAndPort
    }

    /// The host with the port, as errors name a server.
    package var hostAndPort: String { "\(host):\(port)" }
}

extension String {
    /// Whether this is a host of letters in lower case, digits, hyphens and dots, without a port.
    var isPlainHost: Bool {
        !isEmpty && allUTF8 { $0.isPlainInHost }
    }

    /// A host as above, with the port that follows it, if any; nil for another authority.
    fileprivate var plainHostAndPort: (host: String, port: Int?)? {
        var (length, port) = (0, nil as Int?)
        let isPlain = allUTF8 { byte in
            if let digits = port {
                port = 10 * digits + Int(byte &- 0x30)
                return byte &- 0x30 < 10 && digits <= 6553
            }
            if byte == UInt8(ascii: ":") { port = 0 } else { length += 1 }
            return port == nil ? byte.isPlainInHost : length > 0
        }
        guard isPlain, length > 0, length + 1 != utf8.count, port ?? 0 <= 65_535 else { return nil }
        return (port == nil ? self : String(decoding: utf8.prefix(length), as: UTF8.self), port)
    }
}

extension Origin: TextCodable {
    /// The origin as the start of a URL, without a slash at the end.
    public var description: String { "\(scheme)://\(authority)" }
}

extension String {
    /// Whether this is a `reg-name` or an IPv4 address (RFC 3986, section 3.2.2).
    ///
    /// Percent-encoding is refused: it hides a character, so a program that decodes it sees another host.
    fileprivate var isRegisteredName: Bool {
        !isEmpty && allUTF8 { $0.isLetterOrDigit || $0.isMarkInName }
    }

    /// Whether this looks like an `IP-literal` (RFC 3986, section 3.2.2), which may have a zone (RFC 6874).
    fileprivate var isAddressInBrackets: Bool {
        utf8.count > 4 && hasPrefix("[") && hasSuffix("]")
            && utf8.dropFirst().dropLast().allSatisfy { $0.isLetterOrDigit || ":.%-_~".utf8.contains($0) }
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool { (0x30...0x39).contains(self) || (0x61...0x7A).contains(self | 0x20) }

    /// Whether this is one of the marks of `unreserved`, or one of `sub-delims` (RFC 3986, section 2).
    fileprivate var isMarkInName: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "!"),
            UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'")...UInt8(ascii: ","), UInt8(ascii: ";"),
            UInt8(ascii: "="):
            true
        default: false
        }
    }
}

extension Origin {
    /// Whether the host is an IP address and not a name.
    ///
    /// A last part of digits, or of digits after `0x`, counts as the end of an IPv4 address, since systems read `127.1` and
    /// `0x7f.1` as addresses too (WHATWG URL, section 3.5).
    package var hasAddress: Bool { Self.isAddress(host) }

    /// Whether the host is this machine: `localhost` and the names below it (RFC 6761, section 6.3), `127.0.0.0/8`, and `[::1]`.
    package var isLoopback: Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// Whether what is sent there can be read on the way: over `http`, and not to this machine.
    package var isUnencrypted: Bool { scheme == "http" && !isLoopback }

    static func isAddress(_ host: some StringProtocol) -> Bool {
        if host.utf8.first == UInt8(ascii: "[") { return true }
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: true)
        guard let last = labels.last else { return false }
        if last.allSatisfy({ (0x30...0x39).contains($0) }) { return true }
        return last.count > 2 && last.prefix(2).elementsEqual("0x".utf8)
            && last.dropFirst(2).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }
    }
}

/// An IP address of either version, as the bytes of the network.
struct IPAddress: Sendable, Hashable {
    let bytes: [UInt8]

    /// Reads an address; one of version 6 may be in brackets.
    init?(_ text: String) {
        var version4 = in_addr()
        var version6 = in6_addr()
        if unsafe inet_pton(AF_INET, text, &version4) == 1 {
            bytes = unsafe withUnsafeBytes(of: &version4) { unsafe Array($0) }
            return
        }
        let inner = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        guard unsafe inet_pton(AF_INET6, inner, &version6) == 1 else { return nil }
        bytes = unsafe withUnsafeBytes(of: &version6) { unsafe Array($0) }
    }

    /// Reads a host in each form that systems read as an address, such as `127.1`, `0x7f.0.0.1` and `2130706433`; an address
    /// of version 4 that is mapped into version 6 is that of version 4 (RFC 4291, section 2.5.5.2).
    init?(host: String) {
        var version4 = in_addr()
        if unsafe inet_aton(host, &version4) != 0 {
            bytes = unsafe withUnsafeBytes(of: &version4) { unsafe Array($0) }
            return
        }
        // A zone names an interface of this machine, by which the same address is reached (RFC 6874).
        let address = host.contains("%") ? host.prefix { $0 != "%" } + "]" : host[...]
        guard let bytes = IPAddress(String(address))?.bytes else { return nil }
        let isMapped = bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        self.bytes = isMapped ? Array(bytes.dropFirst(12)) : bytes
    }

    /// Whether the first bits of both addresses are the same; addresses of different versions share none.
    func sharesBits(_ count: Int, with other: IPAddress) -> Bool {
        guard bytes.count == other.bytes.count else { return false }
        let whole = count / 8
        guard bytes.prefix(whole) == other.bytes.prefix(whole) else { return false }
        let rest = count % 8
        return rest == 0 || (bytes[whole] ^ other.bytes[whole]) >> UInt8(8 - rest) == 0
    }
}

/// The origin that a request asks, of which the text is parsed when it is read.
enum AskedOrigin: Sendable, Hashable, TextCodable, SecretHolder {
    // The requests' own storage, which is copied in no time.
    case request(HTTPRequest.PseudoHeaderFields)
    indirect case known(Origin)

    /// The origin of a request; nil for a relative one.
    init?(of head: HTTPRequest) {
        guard head.authority != nil else { return nil }
        self = .request(head.pseudoHeaderFields)
    }

    init(_ origin: Origin) { self = .known(origin) }

    init(_ text: String) throws { self.init(try Origin(text)) }

    /// The origin; nil for one that cannot be sent to.
    var value: Origin? {
        switch self {
        case .request(let request): try? Origin(HTTPRequest(request))
        case .known(let origin): origin
        }
    }

    /// The scheme and the authority as an origin has them; nil for one that cannot be sent to.
    var parts: (scheme: String, authority: String)? {
        guard case .request(let asked) = self, case let request = HTTPRequest(asked), let scheme = request.scheme,
            scheme == "https", let authority = request.authority, authority.isPlainHost
        else { return value.map { ($0.scheme, $0.authority) } }
        return (scheme, authority)
    }

    var description: String { value?.description ?? "" }

    static func == (one: AskedOrigin, other: AskedOrigin) -> Bool { one.value == other.value }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
