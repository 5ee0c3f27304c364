#if os(Linux)
/// The transport for Linux: libcurl where it can be used.
struct SystemTransport {
    let connection: any ClosableConnection
    let reason: String
    /// The error that prevented the first choice; nil where it was taken.
    let missing: (any Error)?
}

extension SystemTransport {
    init(
        connectionsPerHost: Int?, idleTimeout: Duration, clock: any DatedClock, libraries: [String] = CurlLibrary.names
    ) {
        do throws(CurlUnavailableError) {
            try self.init(
                tls: TLSOptions(), connectionsPerHost: connectionsPerHost, idleTimeout: idleTimeout, clock: clock,
                libraries: libraries)
        } catch {
            self.init(
                connection: URLSessionConnection(
                    connectionsPerHost: connectionsPerHost ?? 6, idleTimeout: idleTimeout, clock: clock),
                reason: "because libcurl is \(error.reason.name)\(error.version.map { ": \($0)" } ?? "")",
                missing: error)
        }
    }

    init(
        tls: TLSOptions, connectionsPerHost: Int?, idleTimeout: Duration, clock: any DatedClock,
        libraries: [String] = CurlLibrary.names
    ) throws(CurlUnavailableError) {
        let pool = connectionsPerHost.map { CurlConnection.Pool(connectionsPerHost: $0) } ?? CurlConnection.Pool()
        let transport = try CurlConnection(
            library: CurlLibrary(libraries), pool: pool, tls: tls, idleTimeout: idleTimeout, clock: clock)
        self.init(connection: transport, reason: "because libcurl is there", missing: nil)
    }
}
#endif
