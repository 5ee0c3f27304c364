#if os(Linux)
/// The transport for Linux: libcurl where it can be used.
struct SystemTransport {
    let connection: any Connection
    let reason: String
    /// The error that prevented the first choice; nil where it was taken.
    let missing: (any Error)?
    let close: @Sendable () async -> Void

    init(
        connectionsPerHost: Int?, idleTimeout: Duration, clock: any DatedClock, libraries: [String] = CurlLibrary.names
    ) {
        do throws(CurlUnavailableError) {
            try self.init(
                tls: TLSOptions(), connectionsPerHost: connectionsPerHost, idleTimeout: idleTimeout, clock: clock,
                libraries: libraries)
        } catch {
            self.init(
                URLSessionConnection(
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
        self.init(transport, reason: "because libcurl is there", missing: nil)
    }

    private init(_ transport: some ClosableConnection, reason: String, missing: (any Error)?) {
        connection = transport
        close = transport.close
        self.reason = reason
        self.missing = missing
    }
}
#endif
