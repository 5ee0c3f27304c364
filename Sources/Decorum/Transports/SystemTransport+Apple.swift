#if !os(Linux)
/// The transport for Apple's systems: URLSession.
struct SystemTransport {
    let connection: any Connection
    let reason = "because the system has URLSession"
    /// The reason why the transport is not the first choice; nil where it is.
    let missing: (any Error)? = nil
    let close: @Sendable () async -> Void

    init(connectionsPerHost: Int?, idleTimeout: Duration, clock: any DatedClock) {
        let transport = URLSessionConnection(
            connectionsPerHost: connectionsPerHost ?? 6, idleTimeout: idleTimeout, clock: clock)
        connection = transport
        close = transport.close
    }
}
#endif
