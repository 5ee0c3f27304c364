#if os(Linux)
/// Sends requests with the system's libcurl: the fast transport on Linux.
///
/// It holds a server back while its body is not read, and a body that is sent while the server does not take it;
/// it gives fields in their order and spelling, trailer fields and informational responses; and it sends a request once:
/// where a pooled connection turns out to be dead, the request fails with ``TransportError/Code/connectionLost``
/// instead of being sent again in silence.
///
/// ```swift
/// var tls = CurlConnection.TLS()
/// tls.roots = .file(URL(filePath: "/etc/company/roots.pem"))
/// let connection = try CurlConnection(tls: tls)
///     .retrying()
/// ```
///
/// The library, version 7.80 or later, is opened when the connection is created; nothing is linked. Redirections,
/// cookies, content codings and authentication are left to other layers. Proxies are used only where one is configured;
/// the environment is ignored, other than with URLSession on Linux.
///
/// The trailer fields of a request go out over HTTP/1.1 alone: over HTTP/2, libcurl drops them in silence.
///
/// A response that nobody reads holds 256 KiB over HTTP/1.1, and over HTTP/2 up to the 32 MiB that libcurl lets a server
/// send on each stream; where many of them wait at a time, pass `protocols: .http1`.
///
/// ``ResponseMetadata/timings`` tells how long each part of an exchange took.
public struct CurlConnection: Connection {
    let engine: CurlEngine
    let watch: IdleTimer
    private let library: CurlLibrary
    private let settings: CurlSettings
    private let idleTimeout: Duration

    /// Creates a connection with a thread and a pool of its own, which live as long as the connection and what it sent.
    ///
    /// - Parameters:
    ///   - protocols: The versions of HTTP that are offered.
    ///   - pool: How many connections to servers there may be.
    ///   - tls: How a server is trusted, and what the client shows of itself.
    ///   - proxy: The server that requests go through; nil for none, whatever the environment says.
    ///   - unixSocket: The path of a socket that every request goes to, whatever its host is; nil for the network.
    ///   - routes: The addresses of hosts that are not asked for by name.
    ///   - idleTimeout: How long a transfer may stand still where the request does not say. More than seven days count
    ///     as seven days.
    ///   - clock: The clock that the idle timeout goes by.
    /// - Throws: ``CurlUnavailableError`` when libcurl is missing, too old, or cannot do what is asked for.
    public init(
        protocols: Protocols = .negotiated,
        pool: Pool = Pool(),
        tls: TLS = TLS(),
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
        protocols: Protocols = .negotiated,
        pool: Pool = Pool(),
        tls: TLS = TLS(),
        proxy: Proxy? = nil,
        unixSocket: String? = nil,
        routes: [Route] = [],
        idleTimeout: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) throws(CurlUnavailableError) {
        let list = routes.isEmpty ? nil : CurlList(library)
        for route in routes {
            list?.append(route.line)
        }
        settings = CurlSettings(
            protocols: protocols, pool: pool, tls: tls, proxy: proxy, unixSocket: unixSocket, routes: list)
        engine = try CurlEngine(library, settings)
        watch = IdleTimer(clock: clock)
        self.library = library
        self.idleTimeout = idleTimeout
    }

    /// One layer, the transport.
    public var layers: [Layer] {
        var shown: [Layer.Setting] = [
            .init("libcurl", library.version), .init("protocols", settings.protocols),
            .init("connectionsPerHost", settings.pool.connectionsPerHost), .init("idleTimeout", idleTimeout),
            .init("minimumVersion", settings.tls.minimumVersion),
        ]
        if !settings.tls.pinnedKeys.isEmpty { shown.append(.init("pinnedKeys", settings.tls.pinnedKeys.count)) }
        if let proxy = settings.proxy { shown.append(.init("proxy", proxy.url)) }
        if let unixSocket = settings.unixSocket { shown.append(.init("unixSocket", unixSocket)) }
        return [Layer(name: "CurlConnection", role: .transport, settings: shown, facts: [.readsClock])]
    }

    /// Ends what is under way in its own time, and refuses new requests.
    ///
    /// A request that is sent from now on fails with ``TransportError/Code/closed``, at the stage
    /// ``TransportError/Stage/connecting``. The call returns when every response that is under way has been read to its
    /// end, was dropped or has failed. Where the task that calls is cancelled, it returns at once. To close a second time
    /// does no harm.
    public func close() async {
        await engine.close()
    }

    /// Sends a request over the network.
    public func send(_ request: consuming Request) async throws -> Response {
        let request = request
        try request.validate()
        let idleTimeout = request.options.idleTimeout ?? idleTimeout
        guard idleTimeout >= .zero else {
            throw InvalidRequestError(.negativeNumber, "The idle timeout is negative.")
        }
        let head = try CurlRequestHead(request, library)
        try Task.checkCancellation()
        guard idleTimeout > .zero else { throw TransportError(.timedOut, at: .connecting) }

        try engine.transfers.begin()
        request.reportSending(showingClientCertificate: settings.tls.identity != nil)
        let upload: CurlUpload
        do {
            upload = try await CurlUpload(request.body)
        } catch {
            engine.transfers.end()
            throw error
        }
        let exchange = CurlExchange(
            request, head, upload: upload, idleTimeout: min(idleTimeout, IdleTimer.longestTimeout), watch: watch,
            engine: engine, library: library)
        return try await exchange.response()
    }
}
#endif
