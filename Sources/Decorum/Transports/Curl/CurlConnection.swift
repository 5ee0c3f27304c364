#if os(Linux)
import DecorumCurl
import Foundation

/// Sends requests with the system's libcurl: the fast transport on Linux.
///
/// It applies back-pressure in both directions, keeps the order and spelling of fields, and reports trailer fields and
/// informational responses. It sends a request only once: where a pooled connection turns out to be dead, the request fails
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
/// cookies, content codings and authentication are left to other layers. A proxy is used only where one is configured:
/// unlike URLSession on Linux, this transport ignores the proxies of the environment, unless the app passes an
/// ``Environment``.
///
/// A response may be complete before all content of its request is sent. Its reader then gets the end, the rest of the
/// content is not sent, and the connection is closed. Over HTTP/2, libcurl reports such an end only for a response with
/// `Content-Length`, so ``Protocols/negotiated`` sends a request whose content is a stream over HTTP/1.1.
///
/// Limits of libcurl over HTTP/2, which `protocols: .http1` avoids:
/// - A response that is not read occupies up to 32 MiB, which libcurl allows a server to send on each stream; over HTTP/1.1
///   it occupies up to 624 KiB.
/// - A complete response without `Content-Length` that arrives before the end of the request's content ends only when all
///   of that content is sent, when the server resets the stream, or with the idle timeout.
/// - The trailer fields of a response with `Content-Length` that is complete before the request's content are lost.
/// - Content without `Content-Length` counts as complete when the server resets its stream with `NO_ERROR`.
/// - The trailer fields of a request, which only a stream has, are not sent with `protocols: .http2`.
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
    /// The proxy for all requests; nil for none, and where there is a choice.
    private let proxy: Proxy?
    /// The choice of a proxy for each request; nil where it is the same for all.
    private let proxies: CurlProxyChoice?

    /// Creates a connection with its own thread and pool, which exist until the connection and its responses are released.
    ///
    /// - Parameters:
    ///   - protocols: The versions of HTTP that are offered.
    ///   - pool: The number of connections to servers, and how long unused ones are kept.
    ///   - tls: Which servers are trusted, and how the client identifies itself.
    ///   - proxy: The proxy for all requests; nil for none, whatever the environment says.
    ///   - unixSocket: The path of a Unix socket to which all requests are sent, whatever their host; nil for the network.
    ///   - routes: The addresses of hosts whose names are not looked up.
    ///   - idleTimeout: How long a transfer may wait without progress, where the request has no idle timeout. More than
    ///     seven days count as seven days.
    ///   - clock: The clock that measures the idle timeout.
    /// - Throws: ``CurlUnavailableError`` when libcurl is missing, too old, or does not support an option, and for a
    ///   pinned key that is no digest.
    public init(
        protocols: Protocols = .negotiated,
        pool: Pool = Pool(),
        tls: TLSOptions = TLSOptions(),
        proxy: Proxy? = nil,
        unixSocket: String? = nil,
        routes: [Route] = [],
        idleTimeout: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) throws(CurlUnavailableError) {
        try self.init(
            library: CurlLibrary(), protocols: protocols, pool: pool, tls: tls, proxy: proxy, unixSocket: unixSocket,
            routes: routes, idleTimeout: idleTimeout, clock: clock)
    }

    init(
        library: CurlLibrary,
        proxies: CurlProxyChoice? = nil,
        protocols: Protocols = .negotiated,
        pool: Pool = Pool(),
        tls: TLSOptions = TLSOptions(),
        proxy: Proxy? = nil,
        unixSocket: String? = nil,
        routes: [Route] = [],
        idleTimeout: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) throws(CurlUnavailableError) {
        var options = CurlOptions(secureVersion: protocols.secureVersion, clearVersion: protocols.clearVersion)
        pool.add(to: &options)
        if let problem = tls.problemOfPins {
            throw CurlUnavailableError(.unsupportedOption, version: library.version, problem)
        }
        tls.add(to: &options)
        if let proxy {
            for option in proxy.options(tls) { options.add(option) }
        } else {
            // Without this, libcurl would take a proxy from the environment.
            options.add(.text(DECORUM_CURL_OPTION_PROXY, ""))
        }
        if !routes.isEmpty {
            let list = CurlList(library)
            for route in routes { list.append(route.line) }
            options.add(.list(DECORUM_CURL_OPTION_RESOLVE, list))
        }
        options.unixSocket = unixSocket
        self.proxies = proxies
        self.proxy = proxy
        try options.check(library, and: proxies?.options ?? [])
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
        settings += tls.settings
        if let proxy { settings.append(.init("proxy", proxy.url)) }
        if let proxies { settings.append(.init("proxies", proxies)) }
        if let unixSocket { settings.append(.init("unixSocket", unixSocket)) }
        layer = Layer(
            name: "CurlConnection", role: .transport, settings: settings, facts: Layer.facts(of: clock),
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
        let head = try CurlRequestHead(
            request, library, through: proxies?.choose(Origin(request.head)) ?? [],
            or: proxy.map { ($0.url, $0.exceptions) })
        try Task.checkCancellation()
        let beginning = watch.clock.now
        try limits.check(at: beginning, for: Origin(request.head))

        try engines.transfers.begin()
        request.reportSending(showingClientCertificate: showsClientCertificate)
        let (upload, engine): (CurlUpload, CurlEngine)
        do {
            upload = try await CurlUpload(request.body)
            let avoidsHTTP2 = protocols.avoidHTTP2(for: request.body, isSecure: head.isSecure)
            engine = try avoidsHTTP2 ? engines.avoidingHTTP2 : engines.main
        } catch {
            engines.transfers.end()
            throw TransportError.locate(error, in: request, after: nil)
        }
        let exchange = CurlExchange(
            request, head, upload: upload, limits: limits, since: beginning, watch: watch, engine: engine,
            library: library)
        return try await exchange.response()
    }
}
#endif
