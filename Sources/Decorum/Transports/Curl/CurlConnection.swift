#if os(Linux)
import DecorumCurl
import DecorumSecrets
import Foundation

/// Sends requests with the system's libcurl: the fast transport on Linux.
///
/// It applies back-pressure in both directions, keeps the order and spelling of fields, and reports trailer fields and
/// informational responses. It sends a request only once: if a pooled connection turns out to be dead, the request fails
/// with ``TransportError/Code/connectionLost`` instead of being sent again in silence.
///
/// ```swift
/// var tls = TLSOptions()
/// tls.roots = .file(URL(filePath: "/etc/company/roots.pem"))
/// let connection = try CurlConnection(tls: tls)
///     .retrying()
/// ```
///
/// The library, version 7.80 or later, is opened when the connection is created; nothing is linked. Redirections,
/// cookies, content codings and authentication are left to other layers. Unlike URLSession on Linux, this transport ignores
/// the proxies of the environment, unless the app passes an ``Environment``.
///
/// A response may be complete before all content of its request is sent. Its reader then gets the end, the rest of the
/// content is not sent, and the connection is closed. <doc:choosing-a-transport> lists the limits of libcurl over HTTP/2,
/// which `protocols: .http1` avoids.
///
/// Over HTTP/1.1 with TLS, content without `Content-Length` or chunks must end with a close_notify alert (RFC 9112, section
/// 9.8). Otherwise reading it fails with ``TransportError/Code/truncated``, since an attacker may have cut it.
///
/// ``ResponseMetadata/timings`` contains the duration of each part of an exchange.
public struct CurlConnection: ClosableConnection {
    let engines: CurlEngines
    let watch: TimeLimitWatch
    private let library: CurlLibrary
    private let layer: Layer
    private let protocols: Protocols
    private let showsClientCertificate: Bool
    private let idleTimeout: Duration
    private let proxies: CurlProxies

    /// Creates a connection with its own thread and pool, which exist until the connection and its responses are released.
    ///
    /// - Parameters:
    ///   - environment: The proxies and root certificates of environment variables, for what `proxy` and `tls` leave open;
    ///     nil, the default, to use neither.
    ///   - protocols: The versions of HTTP that are offered.
    ///   - pool: The number of connections to servers, and how long unused ones are kept.
    ///   - tls: Which servers are trusted, and how the client identifies itself.
    ///   - proxy: The proxy for all requests; nil to connect directly, or as `environment` says.
    ///   - unixSocket: The path of a Unix socket to which all requests are sent, whatever their host; nil for the network.
    ///   - routes: The addresses of hosts whose names are not looked up.
    ///   - idleTimeout: How long a transfer may wait without progress, unless the request has an idle timeout. More than
    ///     seven days count as seven days.
    ///   - clock: The clock that measures the idle timeout.
    /// - Throws: ``CurlUnavailableError`` when libcurl is missing, too old, or does not support an option, and for a
    ///   pinned key that is no digest.
    public init(
        environment: Environment? = nil, protocols: Protocols = .negotiated, pool: Pool = Pool(),
        tls: TLSOptions = TLSOptions(), proxy: Proxy? = nil, unixSocket: String? = nil, routes: [Route] = [],
        idleTimeout: Duration = .seconds(60), clock: any DatedClock = SystemClock()
    ) throws(CurlUnavailableError) {
        try self.init(
            library: CurlLibrary(), environment: environment, protocols: protocols, pool: pool, tls: tls, proxy: proxy,
            unixSocket: unixSocket, routes: routes, idleTimeout: idleTimeout, clock: clock)
    }

    init(
        library: CurlLibrary, environment: Environment? = nil, protocols: Protocols = .negotiated, pool: Pool = Pool(),
        tls: TLSOptions = TLSOptions(), proxy: Proxy? = nil, unixSocket: String? = nil, routes: [Route] = [],
        idleTimeout: Duration = .seconds(60), clock: any DatedClock = SystemClock()
    ) throws(CurlUnavailableError) {
        var tls = tls
        if let roots = environment?.roots, tls.roots == .system { tls.roots = roots }
        var options = CurlOptions(secureVersion: protocols.secureVersion, clearVersion: protocols.clearVersion)
        pool.add(to: &options)
        if let problem = tls.problemOfPins {
            throw CurlUnavailableError(.unsupportedOption, version: library.version, problem)
        }
        tls.add(to: &options)
        // Without this, libcurl would take a proxy from the environment.
        options.added += proxy?.options(tls) ?? [.text(DECORUM_CURL_OPTION_PROXY, "")]
        if !routes.isEmpty {
            let list = CurlList(library)
            for route in routes { list.append(route.line) }
            options.add(.list(DECORUM_CURL_OPTION_RESOLVE, list))
        }
        options.unixSocket = unixSocket
        proxies = CurlProxies(proxy, or: unixSocket == nil ? environment : nil, tls)
        try options.check(library, and: proxies.options)
        engines = try CurlEngines(library, options)
        watch = TimeLimitWatch(clock: clock)
        self.library = library
        self.protocols = protocols
        self.idleTimeout = idleTimeout
        showsClientCertificate = tls.identity != nil

        var settings: [Layer.Setting] = [
            .init("libcurl", library.version), .init("protocols", protocols),
            .init("connectionsPerHost", pool.connectionsPerHost), .init("idleTimeout", idleTimeout),
        ]
        settings += tls.settings + proxies.settings
        if let unixSocket { settings.append(.init("unixSocket", unixSocket)) }
        layer = Layer(
            name: "CurlConnection", role: .transport, settings: settings,
            facts: Layer.facts(of: clock).union(protocols == .http2 ? [] : [.sendsTrailers])
                .union(proxies.settings.isEmpty && unixSocket == nil ? [.usesNoProxy] : []),
            time: .init(waiting: .atMost(max(.zero, idleTimeout))),
            memory: .init(
                bytes: .atMost(
                    CurlContentBuffer.bytesHeld + CurlUpload.bytesHeld + (protocols == .http1 ? 0 : Self.largestWindow))
            ))
    }

    /// The largest window of a stream that a version of libcurl gives to a server.
    private static let largestWindow = 32 << 20

    /// One layer, the transport.
    public var layers: [Layer] { [layer] }

    /// The number of connections that are open, as ``ClosableConnection/openConnections`` says.
    public var openConnections: Int? { engines.openConnections }

    /// Ends all transfers as ``ClosableConnection/cancelAll()`` says.
    public func cancelAll() {
        watch.cancelAll()
    }

    /// Closes the connection as ``ClosableConnection/close()`` says.
    public func close() async {
        await engines.close()
    }

    /// Sends a request over the network.
    public func send(_ request: consuming Request) async throws -> Response {
        let request = request
        try request.validate()
        let limits = try TransferLimits(request.options, idleTimeout: idleTimeout)
        let head = try CurlRequestHead(request, library, through: proxies)
        try Task.checkCancellation()
        let beginning = watch.clock.now
        try limits.check(at: beginning, for: Origin(request.head))

        try engines.transfers.begin()
        request.reportSending(showingClientCertificate: showsClientCertificate)
        let engine: CurlEngine
        do {
            if case .file(let file) = request.body.storage { try await CurlUpload.check(file) }
            // Over HTTP/2, libcurl does not report the end of a response before all of the request's content is sent, and a
            // stream may wait for that very response.
            let avoidsHTTP2 =
                protocols == .negotiated && head.isSecure && !request.body.isAtHand && !request.body.isEmpty
            engine = try avoidsHTTP2 ? engines.avoidingHTTP2 : engines.main
        } catch {
            engines.transfers.end()
            throw TransportError.locate(error, in: request, after: nil)
        }
        let exchange = CurlExchange(
            request, head, upload: CurlUpload(request.body), limits: limits, since: beginning, watch: watch,
            engine: engine, library: library)
        return try await exchange.response()
    }
}

extension CurlConnection {
    /// The number of connections to servers, and how long unused ones are kept.
    public struct Pool: Sendable, Hashable {
        /// The largest number of connections to one host at a time, 64 by default; further requests wait.
        ///
        /// The connections for streams with ``CurlConnection/Protocols/negotiated`` count apart from the others, for each
        /// of the limits. The wait counts towards the idle timeout of a request, which otherwise fails with
        /// ``TransportError/Code/timedOut``.
        public let connectionsPerHost: Int
        /// The largest number of connections to all hosts at a time; nil, the default, for any number.
        public let connections: Int?
        /// The largest number of unused connections that are kept, 128 by default.
        public let idleConnections: Int
        /// How long an unused connection may still be reused, in whole seconds, 90 by default; zero for not at all.
        public let idleLifetime: Duration
        /// How long after it was opened a connection may be reused, so that names are resolved again; nil for no limit.
        ///
        /// It is in whole seconds, 300 by default. A running request is not interrupted, and an HTTP/2 connection is
        /// replaced once no request uses it.
        public let lifetime: Duration?

        /// Creates limits; a number less than 1 counts as 1, a negative duration as zero.
        public init(
            connectionsPerHost: Int = 64, connections: Int? = nil, idleConnections: Int = 128,
            idleLifetime: Duration = .seconds(90), lifetime: Duration? = .seconds(300)
        ) {
            self.connectionsPerHost = max(connectionsPerHost, 1)
            self.connections = connections.map { max($0, 1) }
            self.idleConnections = max(idleConnections, 1)
            self.idleLifetime = max(idleLifetime, .zero)
            self.lifetime = lifetime.map { max($0, .zero) }
        }

        fileprivate func add(to options: inout CurlOptions) {
            options.connectionsPerHost = min(connectionsPerHost, connections ?? .max)
            options.limitsAllHosts = connections != nil
            options.limits = [
                (DECORUM_CURL_MULTI_MAX_HOST_CONNECTIONS, connectionsPerHost),
                (DECORUM_CURL_MULTI_MAX_TOTAL_CONNECTIONS, connections ?? 0),
                (DECORUM_CURL_MULTI_MAXCONNECTS, idleConnections),
            ]
            // libcurl takes zero for no limit.
            guard idleLifetime > .zero, lifetime.map({ $0 > .zero }) ?? true else {
                return options.add(.number(DECORUM_CURL_OPTION_FORBID_REUSE, 1))
            }
            options.add(.number(DECORUM_CURL_OPTION_MAXAGE_CONN, Self.wholeSeconds(idleLifetime)))
            if let lifetime { options.add(.number(DECORUM_CURL_OPTION_MAXLIFETIME_CONN, Self.wholeSeconds(lifetime))) }
        }

        private static func wholeSeconds(_ duration: Duration) -> Int {
            let (seconds, attoseconds) = duration.bounded.components
            return Int(min(seconds, Int64(Int32.max) - 1)) + (attoseconds > 0 ? 1 : 0)
        }
    }

    /// The versions of HTTP that are offered to a server.
    public struct Protocols: Sendable, Hashable, CustomStringConvertible {
        /// The name of the choice, as in `HTTP/1.1`.
        public let description: String
        private let number: UInt32

        private init(_ description: String, _ number: Int) {
            self.description = description
            self.number = UInt32(number)
        }

        /// HTTP/2 where the server agrees to it within TLS, else HTTP/1.1.
        ///
        /// A request whose content is a stream, neither bytes nor a file, is sent over HTTP/1.1, on a connection of its own
        /// or one that such requests have left, since libcurl does not report over HTTP/2 that its response has ended before
        /// it, and drops its trailer fields. For a server that refuses HTTP/1.1, use ``http2``.
        public static let negotiated = Protocols("negotiated", Int(DECORUM_CURL_HTTP_VERSION_2TLS))
        /// HTTP/1.1 only.
        public static let http1 = Protocols("HTTP/1.1", Int(DECORUM_CURL_HTTP_VERSION_1_1))
        /// HTTP/2 only, also without TLS, for servers that are known to support it.
        ///
        /// Streams are sent over HTTP/2 too, without trailer fields. A response without `Content-Length` that is complete
        /// before its request ends only when all content of the request is sent, when the server resets the stream, or with
        /// the idle timeout. Without TLS, libcurl 7.88 opens a new connection for each request; 8.0 reuses one.
        public static let http2 = Protocols("HTTP/2", Int(DECORUM_CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE))

        /// The versions to offer with TLS.
        fileprivate var secureVersion: Int { Int(number) }
        /// The version without TLS, since nothing is negotiated then.
        fileprivate var clearVersion: Int { self == .http2 ? Int(number) : Int(DECORUM_CURL_HTTP_VERSION_1_1) }
    }

    /// The addresses to connect to for a host, in place of the result of a name lookup.
    public struct Route: Sendable, Hashable {
        /// The host, as it stands in requests.
        public let host: String
        /// The port, as it stands in requests or follows from their scheme.
        public let port: Int
        /// The IP addresses to try; an IPv6 address needs no brackets.
        public let addresses: [String]

        /// Creates a route; throws ``InvalidRequestError`` unless host and port are valid and the addresses are IP addresses.
        public init(host: String, port: Int, addresses: [String]) throws(InvalidRequestError) {
            // libcurl would take these for a command, a list or a host with a port.
            guard let first = host.utf8.first, !"+-*".utf8.contains(first),
                host.allUTF8({ $0 > 0x20 && $0 < 0x7F && !":,/[]".utf8.contains($0) })
            else { throw .invalidHost }
            guard (1...65_535).contains(port) else {
                throw InvalidRequestError(.invalidPort, "The port of a route is not a number from 1 to 65535.")
            }
            guard !addresses.isEmpty, addresses.allSatisfy({ IPAddress($0) != nil }) else {
                throw InvalidRequestError(
                    .invalidHost, "A route needs at least one address, and each must be an IP address.")
            }
            self.host = host
            self.port = port
            self.addresses = addresses
        }

        /// The route in the form that libcurl takes.
        fileprivate var line: String {
            let addresses = addresses.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
            return "\(host):\(port):\(addresses.joined(separator: ","))"
        }
    }
}
#endif
