#if os(Linux)
/// The transport for Linux: libcurl where it can be used.
struct SystemTransport {
    let connection: any ClosableConnection
    let reason: String
    /// The error that prevented the first choice; nil where it was taken.
    let missing: (any Error)?

    init(
        connectionsPerHost: Int?, idleTimeout: Duration, clock: any DatedClock, libraries: [String] = CurlLibrary.names
    ) {
        do {
            let pool = connectionsPerHost.map { CurlConnection.Pool(connectionsPerHost: $0) } ?? CurlConnection.Pool()
            connection = try CurlConnection(
                library: CurlLibrary(libraries), pool: pool, idleTimeout: idleTimeout, clock: clock)
            reason = "because libcurl is there"
            missing = nil
        } catch {
            connection = URLSessionConnection(
                connectionsPerHost: connectionsPerHost ?? 6, idleTimeout: idleTimeout, clock: clock)
            reason = "because libcurl is \(error.reason.name)\(error.version.map { ": \($0)" } ?? "")"
            missing = error
        }
    }
}
#endif
