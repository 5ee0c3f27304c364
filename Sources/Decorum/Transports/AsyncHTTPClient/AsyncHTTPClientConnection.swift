#if AsyncHTTPClient
public import AsyncHTTPClient
import HTTPTypes
import NIOCore
import NIOSSL

/// Sends requests with swift-server's AsyncHTTPClient, on SwiftNIO.
///
/// It is there with the package trait `AsyncHTTPClient`, which is off unless an app asks for it:
///
/// ```
/// .package(url: "https://github.com/…/decorum", from: "0.1.0", traits: ["AsyncHTTPClient"])
/// ```
///
/// Choose it in an app that runs on SwiftNIO anyway, such as a server, which then has one set of threads and one pool
/// of connections. It speaks HTTP/1.1, and HTTP/2 where a server offers it. In an app that does not know SwiftNIO it
/// costs more than twenty packages; `SystemConnection` costs none.
///
/// ```swift
/// let connection = AsyncHTTPClientConnection()
///
/// var configuration = AsyncHTTPClientConnection.configuration()
/// configuration.tlsConfiguration = tls
/// let own = AsyncHTTPClientConnection(configuration: configuration)
/// ```
///
/// Fields keep their order, their spelling and their repetitions, in both directions. A server is held back while the
/// reader of its response is slow, and so is the stream of a request's body while the server is. Once the response has
/// ended, what is left of the request's content is not sent any more.
///
/// These are limits of AsyncHTTPClient 1.37:
///
/// - A response with a status below 100 ends the process. Talk only to servers that you trust.
/// - A request that is sent just when the server closes an idle connection fails with
///   ``TransportError/Code/connectionLost``. A layer that tries again decides whether it may.
/// - A server that breaks the connection while content is sent to it may have answered before; the answer may be lost.
/// - A connection that is in use has no greatest age; `maximumUsesPerConnection` of the configuration bounds its requests.
/// - Of far more requests at once than a server of HTTP/2 allows streams, some stand still until the idle timeout.
/// - Trailer fields in both directions, informational responses, reason phrases, and the bytes of fields that are not
///   UTF-8 are lost.
/// - What may not stand in a URL is percent-encoded in the target, and a request for the server as a whole (`OPTIONS *`)
///   cannot be sent.
/// - A head whose lines end without CR, one with a folded field, and one with two `Content-Length` fields are refused.
public struct AsyncHTTPClientConnection: Connection {
    private let client: AsyncHTTPClientOwner
    private let watch: IdleWatch
    private let idleTimeout: Duration
    private let settings: [Layer.Setting]
    private let showsClientCertificate: Bool

    /// Creates a connection with a client of its own, which ends with the connection and what it sent.
    ///
    /// Nothing needs to be shut down. The client runs on the threads that SwiftNIO keeps for the whole process.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: The largest number of HTTP/1.1 connections to one host; less than 1 counts as 1.
    ///   - idleTimeout: How long a transfer may stand still where the request does not say.
    ///   - clock: The clock that the idle timeout goes by.
    public init(
        connectionsPerHost: Int = 8, idleTimeout: Duration = .seconds(60), clock: any DatedClock = SystemClock()
    ) {
        let configuration = Self.configuration(connectionsPerHost: connectionsPerHost)
        self.init(configuration: configuration, idleTimeout: idleTimeout, clock: clock)
    }

    /// Creates a connection with a client of its own that is made from a configuration, such as one with roots of TLS.
    ///
    /// Nothing needs to be shut down.
    ///
    /// - Parameters:
    ///   - configuration: What the client is made from; begin with ``configuration(connectionsPerHost:)``.
    ///   - idleTimeout: How long a transfer may stand still where the request does not say.
    ///   - clock: The clock that the idle timeout goes by.
    public init(
        configuration: HTTPClient.Configuration, idleTimeout: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) {
        self.init(
            AsyncHTTPClientOwner(configuration, clock: clock), idleTimeout, clock,
            .init("connectionsPerHost", configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit),
            showsClientCertificate: configuration.tlsConfiguration.map { !$0.certificateChain.isEmpty } ?? false)
    }

    /// Creates a connection over a client of yours, which you shut down once nothing is under way any more.
    ///
    /// Prefer ``init(configuration:idleTimeout:clock:)``. Over HTTP/2, a client of yours **ends the process** when a server
    /// answers before it has all of a streamed content, and goes on to use a connection that is dead after a timeout.
    /// Content in memory is sent to `https` in one piece for that reason, and the idle timeout counts how long that takes.
    ///
    /// Make its configuration from ``configuration(connectionsPerHost:)``. A client that follows redirections makes
    /// those that it has followed fail; one that decompresses leaves its responses with a `Content-Encoding` that no
    /// longer holds. Its own timeouts apply too, and its read timeout counts the time that a slow reader takes.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - idleTimeout: How long a transfer may stand still where the request does not say.
    ///   - clock: The clock that the idle timeout goes by.
    ///   - showsClientCertificate: Whether the client has a certificate that it shows to servers. Since its configuration
    ///     cannot be read, layers share no response without a principal unless this is set to false.
    public init(
        _ client: HTTPClient, idleTimeout: Duration = .seconds(60), clock: any DatedClock = SystemClock(),
        showsClientCertificate: Bool = true
    ) {
        self.init(
            AsyncHTTPClientOwner(client), idleTimeout, clock, .init("client", "the app's own"),
            showsClientCertificate: showsClientCertificate)
    }

    private init(
        _ client: AsyncHTTPClientOwner, _ idleTimeout: Duration, _ clock: any DatedClock, _ setting: Layer.Setting,
        showsClientCertificate: Bool
    ) {
        self.client = client
        self.idleTimeout = idleTimeout
        watch = IdleWatch(clock: clock)
        self.showsClientCertificate = showsClientCertificate
        settings = [setting, .init("idleTimeout", idleTimeout)]
    }

    /// Makes the configuration of a client that does nothing but transport, to which a TLS configuration can be added.
    ///
    /// Redirections, decompression and proxies are off; cookies AsyncHTTPClient does not have. A connection that cannot
    /// be made fails at once, since to try again is up to a layer. There is no read timeout, since the connection has an
    /// idle timeout of its own.
    ///
    /// - Parameter connectionsPerHost: The largest number of HTTP/1.1 connections to one host; less than 1 counts as 1.
    /// - Returns: The configuration.
    public static func configuration(connectionsPerHost: Int = 8) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow, decompression: .disabled)
        // The idle timeout covers connecting too; this is for attempts that nobody waits for any more.
        configuration.timeout.connect = .minutes(2)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(connectionsPerHost, 1)
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// One layer, the transport.
    public var layers: [Layer] {
        [Layer(name: "AsyncHTTPClientConnection", role: .transport, settings: settings, facts: [.readsClock])]
    }

    /// Sends a request over the network.
    public func send(_ request: consuming Request) async throws -> Response {
        let request = request
        try request.validate()
        var outgoing = try HTTPClientRequest(request.head)
        let idleTimeout = request.options.idleTimeout ?? idleTimeout
        guard idleTimeout >= .zero else {
            throw InvalidRequestError(.negativeNumber, "The idle timeout is negative.")
        }
        guard request.body.isEmpty || request.head.method != .trace else {
            throw InvalidRequestError(.invalidBody, "A TRACE request has no content (RFC 9110, section 9.3.8).")
        }
        try Task.checkCancellation()
        guard idleTimeout > .zero else { throw TransportError(.timedOut, at: .connecting) }

        try client.transfers.begin()
        request.reportSending(showingClientCertificate: showsClientCertificate)
        let content: AsyncHTTPClientContent
        do {
            content = try await .make(request.body, for: client, isSecure: request.head.scheme == "https")
        } catch {
            client.transfers.end()
            throw error
        }
        let exchange = AsyncHTTPClientExchange(
            request, content: content, by: client, idleTimeout: idleTimeout, watch: watch)
        outgoing.body = content.body(in: exchange)
        return try await exchange.response(to: outgoing)
    }

    /// Ends what is under way in its own time, and refuses new requests.
    ///
    /// A request that is sent from now on fails with ``TransportError/Code/closed``, at the stage
    /// ``TransportError/Stage/connecting``. The call returns when every response that is under way has been read to its
    /// end, was dropped or has failed, and the client is shut down, unless it is the app's own. Where the task that calls
    /// is cancelled, it returns at once. To close a second time does no harm.
    public func close() async {
        await client.close()
    }
}
#endif
