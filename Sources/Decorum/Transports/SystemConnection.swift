/// Sends requests with the transport that suits the system best.
///
/// That is ``URLSessionConnection`` on Apple's systems, and ``CurlConnection`` on Linux. Where libcurl is missing on Linux,
/// or older than 7.80, it is ``URLSessionConnection`` there too, with all the limits that it has on Linux. Only ``layers``
/// says so: it has the chosen transport, the reason, and `fallback: true` where it is not the first choice.
/// ``init(fallingBack:connectionsPerHost:idleTimeout:clock:)`` can throw in place of the fallback.
///
/// ```swift
/// let connection = SystemConnection()
///     .retrying()
/// print(connection.layers)
///
/// let strict = try SystemConnection(fallingBack: false)
/// ```
///
/// For options that only one transport has, such as a proxy, create that transport.
public struct SystemConnection: ClosableConnection {
    private let choice: SystemTransport

    /// Creates a connection, over URLSession where the first choice for the system is missing.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: The largest number of connections to one host; nil for the transport's own default.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise.
    ///   - clock: The clock that the idle timeout goes by.
    public init(
        connectionsPerHost: Int? = nil,
        idleTimeout: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) {
        self.init(
            SystemTransport(connectionsPerHost: connectionsPerHost, idleTimeout: idleTimeout, clock: clock))
    }

    /// Creates a connection, and throws where it would need a fallback that the app does not allow.
    ///
    /// A server can end a process that uses URLSession on Linux. An app that talks to servers that it does not trust
    /// therefore calls this with `false` when it starts.
    ///
    /// - Parameters:
    ///   - fallingBack: Whether URLSession is used where libcurl is missing or cannot be used. On Apple's systems
    ///     URLSession is the first choice, and this has no effect.
    ///   - connectionsPerHost: The largest number of connections to one host; nil for the transport's own default.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise.
    ///   - clock: The clock that the idle timeout goes by.
    /// - Throws: `CurlUnavailableError`, which says what to install, where `fallingBack` is false and there is no libcurl
    ///   that can be used.
    public init(
        fallingBack: Bool,
        connectionsPerHost: Int? = nil,
        idleTimeout: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) throws {
        try self.init(
            SystemTransport(connectionsPerHost: connectionsPerHost, idleTimeout: idleTimeout, clock: clock),
            fallingBack: fallingBack)
    }

    /// Creates a connection with options for TLS, which never falls back to a transport that cannot keep them.
    ///
    /// - Parameters:
    ///   - tls: Which servers are trusted, and how the client identifies itself.
    ///   - connectionsPerHost: The largest number of connections to one host; nil for the transport's own default.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise.
    ///   - clock: The clock that the idle timeout goes by.
    /// - Throws: `CurlUnavailableError` on Linux, where libcurl is missing, or does not support an option; ``TransportError``
    ///   on Apple's systems, where the roots or the identity cannot be used.
    public init(
        tls: TLSOptions,
        connectionsPerHost: Int? = nil,
        idleTimeout: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) throws {
        self.init(
            try SystemTransport(
                tls: tls, connectionsPerHost: connectionsPerHost, idleTimeout: idleTimeout, clock: clock))
    }

    init(_ choice: SystemTransport, fallingBack: Bool) throws {
        if !fallingBack, let missing = choice.missing { throw missing }
        self.init(choice)
    }

    init(_ choice: SystemTransport) {
        self.choice = choice
    }

    /// One layer: that of the transport, with the reason for the choice, and `fallback: true` where it is a fallback.
    public var layers: [Layer] {
        choice.connection.layers.map { layer in
            layer.with((choice.missing == nil ? [] : [.init("fallback", true)]) + [.init("chosen", choice.reason)])
        }
    }

    /// Sends a request over the network.
    public func send(_ request: consuming Request) async throws -> Response {
        try await choice.connection.send(request)
    }

    /// Ends all transfers as ``ClosableConnection/cancelAll()`` says.
    public func cancelAll() {
        choice.connection.cancelAll()
    }

    /// Closes the chosen transport as ``ClosableConnection/close()`` says.
    public func close() async {
        await choice.connection.close()
    }
}

/// A connection whose transfers can be ended, and which can be closed in good order, as every transport can.
public protocol ClosableConnection: Connection {
    /// Ends the transfers under way at once, and stays open for new requests.
    ///
    /// Each call that waits for a response, and each reader of a body that has not arrived as a whole, gets a
    /// `CancellationError`, although its task was not cancelled; no layer sends such a request again. A call that waits in a
    /// layer, as for its next attempt, has no transfer and goes on: `ending(with:)` ends those of a user who has signed out.
    ///
    /// After ``close()`` was called it ends the wait for the transfers.
    func cancelAll()

    /// Refuses new requests, waits until the transfers under way have ended, and closes the connections.
    ///
    /// A request that is sent from now on fails with ``TransportError/Code/closed``, at the stage
    /// ``TransportError/Stage/connecting``. The call returns when each response has been read to its end, was dropped or
    /// has failed. Where the task that calls is cancelled, it returns at once. Closing a second time does no harm.
    ///
    /// You need not close a transport: its connections close when the transport and its responses are released.
    func close() async
}

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
