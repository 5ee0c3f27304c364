#if os(Linux)
import DecorumCurl

/// What all transfers of a connection have in common.
struct CurlSettings: Sendable {
    // Large enough for few wake-ups within a large body, small enough to come from the allocator's own memory.
    private static let bufferSize = 64 << 10

    let protocols: CurlConnection.Protocols
    let pool: CurlConnection.Pool
    let tls: CurlConnection.TLS
    let proxy: CurlConnection.Proxy?
    let unixSocket: String?
    let routes: CurlList?
    private let trust: CurlTrust
    private let relay: CurlRelay?

    init(
        protocols: CurlConnection.Protocols, pool: CurlConnection.Pool, tls: CurlConnection.TLS,
        proxy: CurlConnection.Proxy?, unixSocket: String?, routes: CurlList?
    ) {
        self.protocols = protocols
        self.pool = pool
        self.tls = tls
        self.proxy = proxy
        self.unixSocket = unixSocket
        self.routes = routes
        trust = CurlTrust(tls)
        relay = proxy.map(CurlRelay.init)
    }

    /// Sets the options of a fresh handle.
    func apply(to easy: CurlEasy) {
        easy.keepDetail()
        easy.set(DECORUM_CURL_OPTION_NOSIGNAL, 1)
        easy.set(DECORUM_CURL_OPTION_PROTOCOLS, Int(DECORUM_CURL_PROTOCOL_HTTP | DECORUM_CURL_PROTOCOL_HTTPS))
        easy.set(DECORUM_CURL_OPTION_PATH_AS_IS, 1)
        easy.set(DECORUM_CURL_OPTION_HTTP_CONTENT_DECODING, 0)
        easy.set(DECORUM_CURL_OPTION_SUPPRESS_CONNECT_HEADERS, 1)
        // libcurl 7.88 refuses on a handle whose last stream left others on its connection: it has its buffer still.
        easy.suggest(DECORUM_CURL_OPTION_BUFFERSIZE, Self.bufferSize)
        easy.suggest(DECORUM_CURL_OPTION_UPLOAD_BUFFERSIZE, Self.bufferSize)
        // Otherwise the thread waits for the end of a name's lookup when its transfer ends early, and all others with it.
        easy.suggest(DECORUM_CURL_OPTION_QUICK_EXIT, 1)
        easy.refuseRewinding()
        pool.apply(to: easy)
        trust.apply(to: easy)
        applyProxy(to: easy)
        if let unixSocket { easy.set(DECORUM_CURL_OPTION_UNIX_SOCKET_PATH, unixSocket) }
        if let routes { unsafe easy.set(DECORUM_CURL_OPTION_RESOLVE, routes.pointer) }
    }

    /// Sets the versions of HTTP to offer, of which a server without TLS is only given what it is known to speak.
    func applyProtocols(to easy: CurlEasy, isSecure: Bool) {
        let offered = isSecure || protocols == .http2 ? protocols : .http1
        easy.set(DECORUM_CURL_OPTION_HTTP_VERSION, Int(offered.number))
        let standsAlone = offered == .http2 && !isSecure && easy.library.restartsHTTP2
        if standsAlone {
            easy.set(DECORUM_CURL_OPTION_FRESH_CONNECT, 1)
            easy.closeConnection()
        }
        // A request waits to learn whether it can share the connection that another is making. Without TLS, only the
        // first response would tell.
        easy.set(DECORUM_CURL_OPTION_PIPEWAIT, offered == .http1 || standsAlone ? 0 : 1)
    }

    private func applyProxy(to easy: CurlEasy) {
        if let relay {
            relay.apply(to: easy, trust)
        } else {
            // Unset, it would be taken from the environment.
            easy.set(DECORUM_CURL_OPTION_PROXY, "")
        }
    }

    /// Finds out whether the library takes all options, so that none is left out in silence.
    func check(_ library: CurlLibrary) throws(CurlUnavailableError) {
        guard let easy = CurlEasy(library) else { throw .unusable(library.version) }
        apply(to: easy)
        guard easy.refusal == DECORUM_CURL_OK else {
            throw .unsupportedOption(
                library.version, easy.refusedName ?? "an option", library.error(easy.refusal).text)
        }
    }
}
#endif
