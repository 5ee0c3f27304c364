#if os(Linux)
import DecorumCurl
public import Foundation
import HTTPTypes

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
        let address: CurlProxyAddress
        private let user: Secret<String>?
        private let password: Secret<String>?

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
            address = try CurlProxyAddress(url)
            self.url = url
            self.exceptions = exceptions
            self.user = user.map { Secret(value: $0) }
            self.password = password.map { Secret(value: $0) }
        }

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

        /// The options of the proxy, with the options of TLS if the proxy is reached over it.
        func options(_ tls: TLSOptions) -> [CurlOptions.Option] {
            var options: [CurlOptions.Option] = [
                .text(DECORUM_CURL_OPTION_PROXY, url),
                // Without this, libcurl would take the exceptions from the environment.
                .text(DECORUM_CURL_OPTION_NOPROXY, exceptions.joined(separator: ",")),
            ]
            if let user { options.append(.secret(DECORUM_CURL_OPTION_PROXYUSERNAME, user)) }
            if let password { options.append(.secret(DECORUM_CURL_OPTION_PROXYPASSWORD, password)) }
            return address.isSecure ? options + tls.proxyOptions : options
        }
    }
}

/// The address of a proxy, without a user name and a password.
struct CurlProxyAddress: Sendable, Hashable, CustomStringConvertible {
    private static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// The host and the port.
    let description: String
    /// Whether the proxy is reached over TLS.
    let isSecure: Bool

    /// Checks the URL of a proxy, which libcurl itself would check only when the first request is sent.
    init(_ url: String) throws(InvalidRequestError) {
        var rest = Substring(url)
        var scheme = "http"
        if let end = url.firstRange(of: "://") {
            scheme = url[..<end.lowerBound].lowercased()
            guard Self.schemes.contains(scheme) else {
                throw InvalidRequestError(
                    .unsupportedScheme,
                    "The scheme of the proxy must be one of \(Self.schemes.joined(separator: ", ")).")
            }
            rest = url[end.upperBound...]
        }
        if rest.last == "/" { rest.removeLast() }
        let (host, port) = Self.parts(of: rest)
        // libcurl refuses other characters by itself; these it would accept, and use no proxy or another host.
        let isHost = host.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"/?#\\".utf8.contains($0) }
        guard !host.isEmpty, isHost else {
            throw InvalidRequestError(
                .invalidHost, "The host of the proxy is empty or has characters that are not allowed in a host.")
        }
        guard port.map({ UInt16($0) ?? 0 > 0 }) ?? true else {
            throw InvalidRequestError(.invalidPort, "The port of the proxy is not a number from 1 to 65535.")
        }
        isSecure = scheme == "https"
        description = rest + (port != nil ? "" : isSecure ? ":443" : ":1080")
    }

    /// The host, without the brackets of an IPv6 address, and the port; nil without one.
    private static func parts(of authority: Substring) -> (host: Substring, port: Substring?) {
        if authority.first == "[", let end = authority.firstIndex(of: "]") {
            let rest = authority[authority.index(after: end)...]
            // Only a port may follow the bracket; an empty port is refused as not a number.
            return (authority[..<end].dropFirst(), rest.isEmpty ? nil : rest.first == ":" ? rest.dropFirst() : "")
        }
        guard let colon = authority.firstIndex(of: ":") else { return (authority, nil) }
        return (authority[..<colon], authority[authority.index(after: colon)...])
    }
}

/// The proxies of a connection: one for all requests, or the proxies of the environment.
final class CurlProxies: Sendable {
    private let common: CurlConnection.Proxy?
    private let environment: CurlConnection.Environment?
    private let http: [CurlOptions.Option]
    private let https: [CurlOptions.Option]

    init(
        _ common: CurlConnection.Proxy? = nil, or environment: CurlConnection.Environment? = nil,
        _ tls: TLSOptions = TLSOptions()
    ) {
        self.common = common
        self.environment = common == nil ? environment : nil
        http = self.environment?.httpProxy?.options(tls) ?? []
        https = self.environment?.httpsProxy?.options(tls) ?? []
    }

    /// The settings that the layer shows, without users and passwords.
    var settings: [Layer.Setting] {
        if let common { return [.init("proxy", common.url)] }
        return environment.map { [.init("proxies", $0)] } ?? []
    }

    /// All options that only some requests have.
    var options: [CurlOptions.Option] { http + https }

    /// The options for a request, beside the options of all requests.
    func options(for head: HTTPRequest) throws(InvalidRequestError) -> [CurlOptions.Option] {
        guard let environment else { return [] }
        let origin = try Origin(head)
        return environment.proxy(for: origin) == nil ? [] : origin.scheme == "https" ? https : http
    }

    /// The proxy that a request to an origin is sent through; nil for a direct connection.
    func proxy(for origin: Origin) -> CurlConnection.Proxy? {
        guard let common else { return environment?.proxy(for: origin) }
        return ProxyExceptions(common.exceptions.joined(separator: ",")).contains(origin) ? nil : common
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
        /// The root certificates; nil if the environment names no file or folder.
        public let roots: TLSOptions.Roots?
        private let exceptions: ProxyExceptions

        /// Reads variables.
        ///
        /// - Parameter variables: The variables, by default the variables of the process.
        /// - Throws: ``InvalidRequestError``, which names the variable and shows no password, when a proxy is invalid.
        public init(_ variables: [String: String] = ProcessInfo.processInfo.environment) throws(InvalidRequestError) {
            let general = ["all_proxy", "ALL_PROXY"]
            httpProxy = try Self.proxy(of: ["http_proxy"] + general, in: variables)
            httpsProxy = try Self.proxy(of: ["https_proxy", "HTTPS_PROXY"] + general, in: variables)
            exceptions = ProxyExceptions(Self.value(of: ["no_proxy", "NO_PROXY"], in: variables)?.value ?? "")
            let file = Self.value(of: ["SSL_CERT_FILE"], in: variables)?.value
            let folder = Self.value(of: ["SSL_CERT_DIR"], in: variables)?.value
            roots = file == nil && folder == nil ? nil : .init(source: .locations(file: file, folder: folder))
        }

        /// The proxy for requests to an origin.
        ///
        /// - Parameter origin: The origin.
        /// - Returns: The proxy; nil for a direct connection.
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
#endif
