#if os(Linux)
import DecorumCurl
public import Foundation

extension CurlConnection {
    /// A proxy server through which requests are sent.
    ///
    /// The certificate of a proxy that is reached over TLS must lead to the roots of ``TLSOptions`` too, with no
    /// lower version. Pinned keys belong to the servers behind the proxy, and the proxy is shown no client certificate.
    public struct Proxy: Sendable {
        /// The URL of the proxy, as in `http://proxy.example:3128`, `https://…` or `socks5h://…`.
        public let url: String
        /// The hosts that are reached without the proxy; a domain includes its hosts.
        public var exceptions: [String]
        let user: Secret<String>?
        let password: Secret<String>?

        /// Creates a proxy.
        ///
        /// - Parameters:
        ///   - url: The URL of the proxy, without a user name. Its scheme is `http`, `https`, `socks4`, `socks4a`,
        ///     `socks5` or `socks5h`, by default `http`. Its port is by default 443 for `https` and 1080 for the others.
        ///   - user: The user name for the proxy; it is sent with the `Basic` scheme.
        ///   - password: The password for the proxy.
        ///   - exceptions: The hosts that are reached without the proxy; a domain includes its hosts.
        /// - Throws: ``InvalidRequestError`` when the URL has a user name, another scheme, an invalid port or no valid
        ///   host.
        public init(
            _ url: String, user: String? = nil, password: String? = nil, exceptions: [String] = []
        ) throws(InvalidRequestError) {
            guard !url.contains("@") else {
                throw InvalidRequestError(.userinfo, "The URL of the proxy holds a user name; pass it as user instead.")
            }
            try ProxyAddress.validate(url)
            self.url = url
            self.exceptions = exceptions
            self.user = user.map { Secret(value: $0) }
            self.password = password.map { Secret(value: $0) }
        }
    }
}

extension CurlConnection.Proxy {
    /// The options of the proxy, and those of TLS where the proxy is reached over it.
    func options(_ tls: TLSOptions) -> [CurlOptions.Option] {
        var options: [CurlOptions.Option] = [
            .text(DECORUM_CURL_OPTION_PROXY, url),
            // Without this, libcurl would take the exceptions from the environment.
            .text(DECORUM_CURL_OPTION_NOPROXY, exceptions.joined(separator: ",")),
        ]
        if let user { options.append(.secret(DECORUM_CURL_OPTION_PROXYUSERNAME, user)) }
        if let password { options.append(.secret(DECORUM_CURL_OPTION_PROXYPASSWORD, password)) }
        if url.lowercased().hasPrefix("https:") { options += tls.proxyOptions }
        return options
    }
}

/// The parts of a proxy's URL, which libcurl itself would check only when the first request is sent.
private enum ProxyAddress {
    static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    static func validate(_ url: String) throws(InvalidRequestError) {
        var rest = Substring(url)
        if let end = url.firstRange(of: "://") {
            guard schemes.contains(url[..<end.lowerBound].lowercased()) else {
                throw InvalidRequestError(
                    .unsupportedScheme, "The scheme of the proxy must be one of \(schemes.joined(separator: ", ")).")
            }
            rest = url[end.upperBound...]
        }
        if rest.last == "/" { rest.removeLast() }
        let (host, port) = parts(of: rest)
        // libcurl refuses other characters by itself; these it would accept, and use no proxy or another host.
        let isHost = host.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"/?#\\".utf8.contains($0) }
        guard !host.isEmpty, isHost else {
            throw InvalidRequestError(
                .invalidHost, "The host of the proxy is empty or has characters that are not allowed in a host.")
        }
        if let port {
            guard let port = UInt16(port), port > 0 else {
                throw InvalidRequestError(.invalidPort, "The port of the proxy is not a number from 1 to 65535.")
            }
        }
    }

    /// The host, without the brackets of an IPv6 address, and the port; nil for none.
    private static func parts(of authority: Substring) -> (host: Substring, port: Substring?) {
        if authority.first == "[", let end = authority.firstIndex(of: "]") {
            let rest = authority[authority.index(after: end)...]
            let host = authority[..<end].dropFirst()
            guard !rest.isEmpty else { return (host, nil) }
            // Only a port may follow the bracket; an empty port is refused as not a number.
            return (host, rest.first == ":" ? rest.dropFirst() : "")
        }
        guard let colon = authority.firstIndex(of: ":") else { return (authority, nil) }
        return (authority[..<colon], authority[authority.index(after: colon)...])
    }
}

/// The choice of a proxy for each request.
struct CurlProxyChoice: Sendable, CustomStringConvertible {
    /// The proxies, without users and passwords.
    let description: String
    /// All options that a request may have.
    let options: [CurlOptions.Option]
    /// Returns the options for the requests to an origin; none where it is reached without a proxy.
    let choose: @Sendable (Origin) -> [CurlOptions.Option]
}

/// The address of a proxy, without a user name and a password.
struct CurlProxyAddress: Sendable, Hashable, CustomStringConvertible {
    /// The host and the port.
    let description: String
    /// Whether the proxy is reached over TLS.
    let isSecure: Bool

    /// Takes the address from the URL of a proxy, whose scheme is by default `http`.
    init(_ url: String) {
        let end = url.firstRange(of: "://")
        let scheme = end.map { url[..<$0.lowerBound].lowercased() } ?? "http"
        isSecure = scheme == "https"
        var authority = end.map { url[$0.upperBound...] } ?? Substring(url)
        authority = authority.prefix { !"/?#".contains($0) }
        if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
        let afterHost = authority.lastIndex(of: "]").map { authority[$0...] } ?? authority
        let port = afterHost.contains(":") ? "" : isSecure ? ":443" : ":1080"
        description = authority + port
    }
}

/// The hosts that are reached without a proxy, as `NO_PROXY` names them.
struct ProxyExceptions: Sendable {
    private enum Pattern: Sendable {
        case all
        /// A host, or a domain with its hosts, in lower case.
        case name(String)
        /// The addresses whose first bits are the same.
        case addresses(IPAddress, bits: Int)
    }

    private let entries: [(pattern: Pattern, port: Int?)]

    init(_ text: String) {
        let separators = ", \t"
        entries = text.split { separators.contains($0) }.compactMap { Self.entry(String($0).inLowerCase) }
    }

    func contains(_ origin: Origin) -> Bool {
        let host = origin.host.hasSuffix(".") ? String(origin.host.dropLast()) : origin.host
        let address = IPAddress(host)
        return entries.contains { pattern, port in
            guard port == nil || port == origin.port else { return false }
            return switch pattern {
            case .all: true
            case .name(let name): address == nil && (host == name || host.hasSuffix("." + name))
            case .addresses(let network, let bits): address?.sharesBits(bits, with: network) == true
            }
        }
    }

    private static func entry(_ text: String) -> (pattern: Pattern, port: Int?)? {
        if let pattern = pattern(text) { return (pattern, nil) }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            let pattern = pattern(String(text[..<colon]))
        else { return nil }
        return (pattern, Int(port))
    }

    private static func pattern(_ text: String) -> Pattern? {
        if text == "*" { return .all }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if let address = parts.first.flatMap({ IPAddress(String($0)) }) {
            guard parts.count == 2 else { return .addresses(address, bits: address.bytes.count * 8) }
            guard let bits = UInt8(parts[1]), bits <= address.bytes.count * 8 else { return nil }
            return .addresses(address, bits: Int(bits))
        }
        var name = Substring(text)
        if name.hasPrefix("*.") { name = name.dropFirst() }
        if name.hasPrefix(".") { name = name.dropFirst() }
        if name.hasSuffix(".") { name = name.dropLast() }
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && !":/[]*".utf8.contains($0) }) else { return nil }
        return .name(String(name))
    }
}

extension CurlConnection {
    /// The proxies and root certificates that environment variables name.
    ///
    /// A connection never reads the environment by itself. An app that wants it, such as a command-line tool, says so:
    ///
    /// ```swift
    /// let environment = try CurlConnection.Environment()
    /// let connection = try CurlConnection(environment: environment)
    /// ```
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `http_proxy` | the proxy for `http`; in lower case only, since a CGI program gets `HTTP_PROXY` from a client |
    /// | `https_proxy`, `HTTPS_PROXY` | the proxy for `https` |
    /// | `all_proxy`, `ALL_PROXY` | the proxy for a scheme that has none |
    /// | `no_proxy`, `NO_PROXY` | the hosts that are reached without a proxy |
    /// | `SSL_CERT_FILE` | the only file of root certificates, in the PEM format |
    /// | `SSL_CERT_DIR` | the only folder of root certificates, named by their hashes |
    ///
    /// The name in lower case comes first, and an empty value counts as none. A proxy is a URL as in ``Proxy``, which may
    /// hold a user name and a password, percent-encoded. The hosts in `no_proxy` are separated by commas or blanks:
    /// - `*` is every host;
    /// - a name is a host or a domain with all its hosts, in any letter case, with or without a leading `.` or `*.`;
    /// - an IP address, in IPv6 with or without brackets, is that address; `10.0.0.0/8` is all addresses with the first
    ///   bits in common;
    /// - `:8080` after any of them limits it to that port.
    ///
    /// Names are not looked up: an address does not stand for a name that leads to it. Invalid entries are ignored.
    public struct Environment: Sendable {
        /// The proxy for `http`; nil for none.
        public let httpProxy: Proxy?
        /// The proxy for `https`; nil for none.
        public let httpsProxy: Proxy?
        /// The root certificates; nil where the environment names none.
        public let roots: TLSOptions.Roots?
        private let exceptions: ProxyExceptions

        /// Reads variables.
        ///
        /// - Parameter variables: The variables, by default those of the process.
        /// - Throws: ``InvalidRequestError``, which names the variable and shows no password, when a proxy is invalid.
        public init(_ variables: [String: String] = ProcessInfo.processInfo.environment) throws(InvalidRequestError) {
            let general = ["all_proxy", "ALL_PROXY"]
            httpProxy = try Self.proxy(of: ["http_proxy"] + general, in: variables)
            httpsProxy = try Self.proxy(of: ["https_proxy", "HTTPS_PROXY"] + general, in: variables)
            exceptions = ProxyExceptions(Self.value(of: ["no_proxy", "NO_PROXY"], in: variables)?.value ?? "")
            let file = Self.value(of: ["SSL_CERT_FILE"], in: variables)?.value
            let folder = Self.value(of: ["SSL_CERT_DIR"], in: variables)?.value
            roots =
                file == nil && folder == nil ? nil : TLSOptions.Roots(source: .locations(file: file, folder: folder))
        }

        /// The proxy for requests to an origin.
        ///
        /// - Parameter origin: The origin.
        /// - Returns: The proxy; nil where the origin is reached without one.
        public func proxy(for origin: Origin) -> Proxy? {
            let proxy = origin.scheme == "https" ? httpsProxy : httpProxy
            return exceptions.contains(origin) ? nil : proxy
        }

        private static func value(
            of names: [String], in variables: [String: String]
        ) -> (name: String, value: String)? {
            for name in names {
                if let value = variables[name], !value.isEmpty { return (name, value) }
            }
            return nil
        }

        private static func proxy(
            of names: [String], in variables: [String: String]
        ) throws(InvalidRequestError) -> Proxy? {
            guard let (name, value) = value(of: names, in: variables) else { return nil }
            do throws(InvalidRequestError) {
                return try Proxy(holdingUser: value)
            } catch {
                throw InvalidRequestError(
                    error.reason, "The environment variable \(name) is invalid. \(error.description)")
            }
        }
    }
}

extension CurlConnection.Environment: CustomStringConvertible {
    /// The URLs of the proxies, without users and passwords.
    public var description: String {
        "http: \(httpProxy?.url ?? "direct"), https: \(httpsProxy?.url ?? "direct")"
    }
}

extension CurlConnection.Environment {
    /// The proxies in the form that libcurl takes.
    func choice(_ tls: TLSOptions) -> CurlProxyChoice {
        let http = httpProxy?.options(tls) ?? []
        let https = httpsProxy?.options(tls) ?? []
        return CurlProxyChoice(description: description, options: http + https) { origin in
            guard proxy(for: origin) != nil else { return [] }
            return origin.scheme == "https" ? https : http
        }
    }

    /// TLS with the roots of the environment, unless it has its own.
    func completing(_ tls: TLSOptions) -> TLSOptions {
        guard let roots, tls.roots == .system else { return tls }
        var tls = tls
        tls.roots = roots
        return tls
    }
}

extension CurlConnection.Proxy {
    /// Creates a proxy from a URL that may hold a user name and a password.
    fileprivate init(holdingUser text: String) throws(InvalidRequestError) {
        let schemeEnd = text.firstRange(of: "://")?.upperBound ?? text.startIndex
        guard let at = text[schemeEnd...].lastIndex(of: "@") else {
            try self.init(text)
            return
        }
        let parts = text[schemeEnd..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.map { part in
            String(decoding: PercentCoding.decode(Array(part.utf8)[...], plusIsBlank: false), as: UTF8.self)
        }
        try self.init(
            String(text[..<schemeEnd]) + text[text.index(after: at)...], user: decoded.first,
            password: decoded.count > 1 ? decoded[1] : nil)
    }
}

extension CurlConnection {
    /// Creates a connection that uses the proxies and the root certificates of the environment.
    ///
    /// - Parameters:
    ///   - environment: The proxies and roots; they are not read again later.
    ///   - protocols: The versions of HTTP that are offered.
    ///   - pool: The number of connections to servers, and how long unused ones are kept.
    ///   - tls: Which servers are trusted, and how the client identifies itself. Roots other than
    ///     ``TLSOptions/Roots/system`` replace those of the environment.
    ///   - routes: The addresses of hosts whose names are not looked up.
    ///   - idleTimeout: How long a transfer may wait without progress, where the request has no idle timeout.
    ///   - clock: The clock that measures the idle timeout.
    /// - Throws: ``CurlUnavailableError`` when libcurl is missing, too old, or does not support an option.
    public init(
        environment: Environment,
        protocols: Protocols = .negotiated,
        pool: Pool = Pool(),
        tls: TLSOptions = TLSOptions(),
        routes: [Route] = [],
        idleTimeout: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) throws(CurlUnavailableError) {
        let tls = environment.completing(tls)
        try self.init(
            library: CurlLibrary(), proxies: environment.choice(tls), protocols: protocols, pool: pool, tls: tls,
            routes: routes, idleTimeout: idleTimeout, clock: clock)
    }
}
#endif
