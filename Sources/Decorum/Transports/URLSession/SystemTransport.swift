#if !os(Linux)
/// The transport for Apple's systems: URLSession.
struct SystemTransport {
    let connection: any Connection
    let reason = "because the system has URLSession"

    init(connectionsPerHost: Int?, idleTimeout: Duration, clock: any DatedClock) {
        connection = URLSessionConnection(
            connectionsPerHost: connectionsPerHost ?? 6, idleTimeout: idleTimeout, clock: clock)
    }
}
#endif
