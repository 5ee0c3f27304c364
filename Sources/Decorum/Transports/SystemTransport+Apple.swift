#if !os(Linux)
/// The transport for Apple's systems: URLSession.
struct SystemTransport {
    let connection: any ClosableConnection
    let reason = "because the system has URLSession"
    /// The reason why the transport is not the first choice; nil where it is.
    let missing: (any Error)? = nil

    init(connectionsPerHost: Int?, idleTimeout: Duration, clock: any DatedClock) {
        connection = URLSessionConnection(
            connectionsPerHost: connectionsPerHost ?? 6, idleTimeout: idleTimeout, clock: clock)
    }

    init(tls: TLSOptions, connectionsPerHost: Int?, idleTimeout: Duration, clock: any DatedClock) throws {
        connection = try URLSessionConnection(
            tls: tls, connectionsPerHost: connectionsPerHost ?? 6, idleTimeout: idleTimeout, clock: clock)
    }
}
#endif
