#if !os(Linux)
/// The transport for Apple's systems: URLSession.
struct SystemTransport {
    let connection: any Connection
    let reason = "because the system has URLSession"
    /// The reason why the transport is not the first choice; nil where it is.
    let missing: (any Error)? = nil
    let close: @Sendable () async -> Void

    init(connectionsPerHost: Int?, idleTimeout: Duration, clock: any DatedClock) {
        self.init(
            URLSessionConnection(
                connectionsPerHost: connectionsPerHost ?? 6, idleTimeout: idleTimeout, clock: clock))
    }

    init(tls: TLSOptions, connectionsPerHost: Int?, idleTimeout: Duration, clock: any DatedClock) throws {
        self.init(
            try URLSessionConnection(
                tls: tls, connectionsPerHost: connectionsPerHost ?? 6, idleTimeout: idleTimeout, clock: clock))
    }

    private init(_ transport: some ClosableConnection) {
        connection = transport
        close = transport.close
    }
}
#endif
