/// Sends requests with the transport that suits the system best.
///
/// That is ``URLSessionConnection`` on Apple's systems, and ``CurlConnection`` on Linux. If libcurl is missing on Linux, or is
/// older than 7.80, it is ``URLSessionConnection`` there too, with all the limits that it has on Linux. Only ``layers``
/// says so: it has the chosen transport, the reason, and `fallback: true` if it is not the first choice.
///
/// A server can end a process that uses URLSession on Linux. An app that talks to servers that it does not trust therefore
/// calls ``init(tls:connectionsPerHost:idleTimeout:clock:)``, which throws in place of the fallback.
///
/// ```swift
/// let connection = SystemConnection()
///     .retrying()
/// print(connection.layers)
///
/// let strict = try SystemConnection(tls: TLSOptions())
/// ```
///
/// For options that only one transport has, such as a proxy, create that transport.
public struct SystemConnection: ClosableConnection {
    private let connection: any ClosableConnection
    private let notes: [Layer.Setting]

    /// Creates a connection, over URLSession if the first choice for the system is missing.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: The largest number of connections to one host; nil for the transport's own default.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise.
    ///   - clock: The clock that measures the idle timeout.
    public init(
        connectionsPerHost: Int? = nil, idleTimeout: Duration = .seconds(60), clock: any DatedClock = SystemClock()
    ) {
        #if os(Linux)
        self.init(CurlLibrary.names, connectionsPerHost, idleTimeout, clock)
        #else
        connection = URLSessionConnection(
            connectionsPerHost: connectionsPerHost ?? 6, idleTimeout: idleTimeout, clock: clock)
        notes = [Self.reason]
        #endif
    }

    /// Creates a connection with options for TLS, which never falls back to a transport that cannot keep them.
    ///
    /// - Parameters:
    ///   - tls: Which servers are trusted, and how the client identifies itself.
    ///   - connectionsPerHost: The largest number of connections to one host; nil for the transport's own default.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise.
    ///   - clock: The clock that measures the idle timeout.
    /// - Throws: `CurlUnavailableError` on Linux, if libcurl is missing, or does not support an option; ``TransportError``
    ///   on Apple's systems, if the roots or the identity cannot be used.
    public init(
        tls: TLSOptions, connectionsPerHost: Int? = nil, idleTimeout: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) throws {
        #if os(Linux)
        try self.init(CurlLibrary.names, tls, connectionsPerHost, idleTimeout, clock)
        #else
        connection = try URLSessionConnection(
            tls: tls, connectionsPerHost: connectionsPerHost ?? 6, idleTimeout: idleTimeout, clock: clock)
        notes = [Self.reason]
        #endif
    }

    #if os(Linux)
    init(
        _ libraries: [String], _ connectionsPerHost: Int? = nil, _ idleTimeout: Duration = .seconds(60),
        _ clock: any DatedClock = SystemClock()
    ) {
        do throws(CurlUnavailableError) {
            try self.init(libraries, TLSOptions(), connectionsPerHost, idleTimeout, clock)
        } catch {
            let reason = "because libcurl is \(error.reason.name)\(error.version.map { ": \($0)" } ?? "")"
            let fallback = URLSessionConnection(
                connectionsPerHost: connectionsPerHost ?? 6, idleTimeout: idleTimeout, clock: clock)
            self.init(fallback, notes: [.init("fallback", true), .init("chosen", reason)])
        }
    }

    private init(_ connection: any ClosableConnection, notes: [Layer.Setting]) {
        (self.connection, self.notes) = (connection, notes)
    }

    init(
        _ libraries: [String], _ tls: TLSOptions, _ connectionsPerHost: Int? = nil,
        _ idleTimeout: Duration = .seconds(60), _ clock: any DatedClock = SystemClock()
    ) throws(CurlUnavailableError) {
        let pool = connectionsPerHost.map { CurlConnection.Pool(connectionsPerHost: $0) } ?? CurlConnection.Pool()
        let transport = try CurlConnection(
            library: CurlLibrary(libraries), pool: pool, tls: tls, idleTimeout: idleTimeout, clock: clock)
        self.init(transport, notes: [.init("chosen", "because libcurl is there")])
    }
    #else
    private static let reason = Layer.Setting("chosen", "because the system has URLSession")
    #endif

    /// One layer: that of the transport, with the reason for the choice, and `fallback: true` for a fallback.
    public var layers: [Layer] { connection.layers.map { $0.with(notes) } }

    /// Sends a request over the network.
    public func send(_ request: consuming Request) async throws -> Response {
        try await connection.send(request)
    }

    /// The number of connections of the chosen transport that are open; nil over URLSession, which does not tell.
    public var openConnections: Int? { connection.openConnections }

    /// Ends all transfers as ``ClosableConnection/cancelAll()`` says.
    public func cancelAll() {
        connection.cancelAll()
    }

    /// Closes the chosen transport as ``ClosableConnection/close()`` says.
    public func close() async {
        await connection.close()
    }
}

/// A connection whose transfers can be ended, and which can be closed in good order, as every transport can.
public protocol ClosableConnection: Connection {
    /// Ends the transfers under way at once, and stays open for new requests.
    ///
    /// Each call that waits for a response, and each reader of a body that has not arrived as a whole, gets a
    /// `CancellationError`, although its task was not cancelled; no layer sends such a request again. A call that waits in a
    /// layer, as for its next attempt, has no transfer and goes on: `ending(with:)` ends the calls of a user who has signed out.
    ///
    /// After ``close()`` was called it ends the wait for the transfers.
    func cancelAll()

    /// Refuses new requests, waits until the transfers under way have ended, and closes the connections.
    ///
    /// A request that is sent from now on fails with ``TransportError/Code/closed``, at the stage
    /// ``TransportError/Stage/connecting``. The call returns when each response has been read to its end, was dropped or
    /// has failed. If the task that calls is cancelled, it returns at once. Closing a second time does no harm.
    ///
    /// You need not close a transport: its connections close when the transport and its responses are released.
    func close() async

    /// The number of network connections that are open at this moment: in use, kept for later requests, or being made.
    ///
    /// It is nil, the default, where the transport does not know. Reading it takes no time, on any thread.
    var openConnections: Int? { get }
}

extension ClosableConnection {
    /// Nil, since not every transport knows its connections.
    public var openConnections: Int? { nil }
}

extension Layer.Fact {
    /// Reaches each server without a proxy.
    package static let usesNoProxy = Layer.Fact("usesNoProxy")
}
