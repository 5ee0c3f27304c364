#if AsyncHTTPClient
public import AsyncHTTPClient
public import Decorum
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// Sends requests with swift-server's AsyncHTTPClient, on SwiftNIO.
///
/// The module is empty unless the package trait `AsyncHTTPClient` is on:
///
/// ```
/// .package(url: "https://github.com/…/decorum", from: "0.1.0", traits: ["AsyncHTTPClient"])
/// ```
///
/// Choose it in an app that runs on SwiftNIO anyway, such as a server, which then has one set of threads and one pool
/// of connections. It speaks HTTP/1.1, and HTTP/2 where a server offers it. To an app that does not use SwiftNIO it adds
/// more than twenty packages; `SystemConnection` adds none.
///
/// ```swift
/// let connection = AsyncHTTPClientConnection()
///
/// var configuration = AsyncHTTPClientConnection.configuration()
/// configuration.tlsConfiguration = tls
/// let own = AsyncHTTPClientConnection(configuration: configuration)
/// ```
///
/// Fields keep their order, their spelling and their repetitions, in both directions. While the reader of a response is
/// slow, the server is held back; while the server is slow, so is the stream of a request's body. Once the response has
/// ended, the rest of the request's content is not sent.
///
/// Over `https`, content in memory is sent in one piece, and the idle timeout counts how long that takes. For large content
/// over slow networks use a file or a stream, for which the time is counted from one piece of 64 KiB to the next.
///
/// These are limits of AsyncHTTPClient 1.37:
///
/// - A response with a status below 100 ends the process. Talk only to servers that you trust.
/// - Over TLS, bytes that a server sends on an idle connection may be taken for the response to the next request.
/// - A request that is sent just when the server closes an idle connection fails with
///   `TransportError.Code.connectionLost`. A layer that tries again decides whether it may.
/// - When a server answers and then breaks the connection while content is sent to it, the answer may be lost.
/// - On Linux, a program that the app starts may inherit the sockets. The server then sees the end of a connection only
///   when that program has ended too, even if the app has dropped the response.
/// - A connection that is in use has no greatest age; `maximumUsesPerConnection` of the configuration bounds its requests.
/// - Of far more requests at once than an HTTP/2 server allows streams, some wait until the idle timeout.
/// - Trailer fields in both directions, informational responses, reason phrases, and the bytes of fields that are not
///   UTF-8 are lost.
/// - Characters that are invalid in a URL are percent-encoded in the target, and a request for the server as a whole
///   (`OPTIONS *`) cannot be sent.
/// - A response fails when lines of its head end without CR, or when it has a folded field or two `Content-Length` fields.
public struct AsyncHTTPClientConnection: ClosableConnection {
    private let client: AsyncHTTPClientOwner
    private let watch: TimeLimitWatch
    private let idleTimeout: Duration
    private let settings: [Layer.Setting]
    private let showsClientCertificate: Bool
    /// Whether the client is known to send only; a client of the app's own may follow redirections by itself.
    private let isDeclared: Bool

    /// Creates a connection and a client for it, which is shut down when the connection and its transfers are gone.
    ///
    /// You shut down nothing yourself. The client runs on the threads that SwiftNIO has for the whole process.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: The largest number of HTTP/1.1 connections to one host; less than 1 counts as 1.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise.
    ///   - clock: The clock that the idle timeout goes by.
    public init(
        connectionsPerHost: Int = 8, idleTimeout: Duration = .seconds(60), clock: any DatedClock = SystemClock()
    ) {
        let configuration = Self.configuration(connectionsPerHost: connectionsPerHost)
        self.init(configuration: configuration, idleTimeout: idleTimeout, clock: clock)
    }

    /// Creates a connection and a client for it from a configuration, such as one with trusted roots for TLS.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the client; begin with ``configuration(connectionsPerHost:)``.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise.
    ///   - clock: The clock that the idle timeout goes by.
    public init(
        configuration: HTTPClient.Configuration, idleTimeout: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) {
        self.init(
            AsyncHTTPClientOwner(configuration, clock: clock), idleTimeout, clock,
            .init("connectionsPerHost", configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit),
            showsClientCertificate: configuration.tlsConfiguration.map { !$0.certificateChain.isEmpty } ?? false,
            isDeclared: true)
    }

    /// Creates a connection over a client of yours, which you shut down after the last transfer has ended.
    ///
    /// Prefer ``init(configuration:idleTimeout:clock:)``. Over HTTP/2, a client of yours **ends the process** when a server
    /// answers before it has all of a streamed content, and goes on to use a dead connection after a timeout.
    ///
    /// Make its configuration from ``configuration(connectionsPerHost:)``. With a client that follows redirections, a
    /// request whose redirection was followed fails. With a client that decompresses, responses keep a `Content-Encoding`
    /// that is wrong. The client's own timeouts apply too, and its read timeout counts the time of a slow reader. On Apple's
    /// systems, give it `MultiThreadedEventLoopGroup.singleton`: with its default, Network.framework makes the connections,
    /// and failures of TLS have the code `TransportError.Code.other`.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - idleTimeout: How long a transfer may stand still, unless the request says otherwise.
    ///   - clock: The clock that the idle timeout goes by.
    ///   - showsClientCertificate: Whether the client has a certificate that it shows to servers. The configuration of a
    ///     client cannot be read; with true, layers share no response without a principal.
    public init(
        _ client: HTTPClient, idleTimeout: Duration = .seconds(60), clock: any DatedClock = SystemClock(),
        showsClientCertificate: Bool = true
    ) {
        self.init(
            AsyncHTTPClientOwner(client), idleTimeout, clock, .init("client", "the app's own"),
            showsClientCertificate: showsClientCertificate, isDeclared: false)
    }

    private init(
        _ client: AsyncHTTPClientOwner, _ idleTimeout: Duration, _ clock: any DatedClock, _ setting: Layer.Setting,
        showsClientCertificate: Bool, isDeclared: Bool
    ) {
        self.client = client
        self.idleTimeout = idleTimeout
        watch = TimeLimitWatch(clock: clock)
        self.showsClientCertificate = showsClientCertificate
        self.isDeclared = isDeclared
        settings = [setting, .init("idleTimeout", idleTimeout)]
    }

    /// Makes the configuration of a client that only transports, to which a TLS configuration can be added.
    ///
    /// Redirections, decompression and proxies are off; AsyncHTTPClient has no cookies. A connection that cannot be made
    /// fails at once, since a layer decides whether to try again. There is no read timeout, since there is the idle timeout.
    ///
    /// - Parameter connectionsPerHost: The largest number of HTTP/1.1 connections to one host; less than 1 counts as 1.
    /// - Returns: The configuration.
    public static func configuration(connectionsPerHost: Int = 8) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow, decompression: .disabled)
        // The idle timeout covers connecting too; this one ends attempts whose requests have ended.
        configuration.timeout.connect = .minutes(2)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(connectionsPerHost, 1)
        configuration.connectionPool.retryConnectionEstablishment = false
        // The layer that traces decides which server gets the fields of a trace.
        configuration.tracing.tracer = nil
        return configuration
    }

    /// One layer, the transport.
    public var layers: [Layer] {
        [
            Layer(
                name: "AsyncHTTPClientConnection", role: .transport, settings: settings,
                facts: watch.clock is SystemClock ? [.readsClock] : [],
                time: .init(waiting: .atMost(max(.zero, idleTimeout))), memory: .init(bytes: .unbounded),
                isDeclared: isDeclared)
        ]
    }

    /// Sends a request over the network.
    public func send(_ request: consuming Request) async throws -> Response {
        let request = request
        try request.validate()
        var outgoing = try HTTPClientRequest(request.head)
        let limits = try TransferLimits(request.options, idleTimeout: idleTimeout)
        guard request.body.isEmpty || request.head.method != .trace else {
            throw InvalidRequestError(.invalidBody, "A TRACE request has no content (RFC 9110, section 9.3.8).")
        }
        try Task.checkCancellation()
        let beginning = watch.clock.now
        try limits.check(at: beginning, for: Origin(request.head))

        try client.transfers.begin()
        request.reportSending(showingClientCertificate: showsClientCertificate)
        let content: AsyncHTTPClientContent
        do {
            let isSecure = request.head.scheme == "https"
            content = try await .make(
                request.body, for: client, isSecure: isSecure, until: limits.deadline, on: watch)
        } catch {
            client.transfers.end()
            throw TransportError.locate(error, in: request, after: beginning.duration(to: watch.clock.now))
        }
        let exchange = AsyncHTTPClientExchange(
            request, content: content, by: client, authority: outgoing.headers.first(name: "Host") ?? "",
            limits: limits, since: beginning, watch: watch)
        outgoing.body = content.body(in: exchange)
        return try await exchange.response(to: outgoing)
    }

    /// The number of connections that were made and are open, as `ClosableConnection.openConnections` says; nil over a client
    /// of the app's own.
    public var openConnections: Int? { client.connections?.openConnections.load(ordering: .relaxed) }

    /// Ends all transfers as `ClosableConnection.cancelAll()` says.
    public func cancelAll() { watch.cancelAll() }

    /// Closes the connection as `ClosableConnection.close()` says, and shuts down its client unless it is the app's own.
    public func close() async { await client.close() }
}

/// Owns a client that the connection has made, or refers to one of the app's.
///
/// A client of the connection is shut down when the owner is closed or dropped, since a client that is dropped without it
/// ends the process in a debug build.
final class AsyncHTTPClientOwner: Sendable {
    let client: HTTPClient
    /// The client's HTTP/2 connections; nil for a client of the app's, whose connections cannot be observed.
    let connections: HTTP2Connections?
    let transfers = OpenTransfers()
    private let loops: [EventLoopExecutor]

    private init(_ client: HTTPClient, _ connections: HTTP2Connections?) {
        self.client = client
        self.connections = connections
        loops = client.eventLoopGroup.makeIterator().map(EventLoopExecutor.init)
    }

    /// Makes a client, which the owner shuts down.
    convenience init(_ configuration: HTTPClient.Configuration, clock: any DatedClock) {
        let connections = HTTP2Connections(clock: clock)
        // On Apple's systems, the default are loops of Network.framework, on which the handlers of connections do not work.
        let client = HTTPClient(
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            configuration: connections.observing(configuration.checkingConnections(countedAmong: connections)))
        self.init(client, connections)
    }

    /// Refers to a client that the app shuts down.
    convenience init(_ client: HTTPClient) { self.init(client, nil) }

    private var ownsClient: Bool { connections != nil }

    deinit {
        // Without waiting, since this may be the thread of an event loop. A second shutdown has no effect but an error.
        if ownsClient { client.shutdown { _ in } }
    }

    /// Counts a transfer on the loop with the fewest, so that one at a time finds its connection on the same loop.
    ///
    /// Nil over loops that the app may shut down, since such a loop drops the tasks that are given to it.
    func beginOnLoop() -> EventLoopExecutor? {
        guard client.eventLoopGroup === MultiThreadedEventLoopGroup.singleton else { return nil }
        let loop = loops.min { $0.transferCount.load(ordering: .relaxed) < $1.transferCount.load(ordering: .relaxed) }
        loop?.transferCount.add(1, ordering: .relaxed)
        return loop
    }

    /// Waits until the event loops have done the work that was given to them before the call.
    func settle() async throws {
        let turns = loops.map { $0.loop.submit {} }
        for turn in turns { try await turn.get() }
    }

    /// Closes the transfers, and then shuts down a client of the connection.
    func close() async {
        await transfers.close()
        guard ownsClient, transfers.isOver else { return }
        await withCheckedContinuation { continuation in
            // The only error is that it was shut down before.
            client.shutdown { _ in continuation.resume() }
        }
    }
}

/// Runs tasks on an event loop, so that what the loop tells them costs no change of threads.
final class EventLoopExecutor: TaskExecutor {
    let loop: any EventLoop
    /// The number of transfers under way.
    let transferCount = Atomic(0)

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // The closure retains the executor for as long as the job runs on it.
        loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
#endif
