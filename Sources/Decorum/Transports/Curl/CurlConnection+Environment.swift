#if os(Linux)
public import Foundation

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
