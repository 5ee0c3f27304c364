/// Sends requests with the transport that suits the system best.
///
/// That is ``URLSessionConnection`` on Apple's systems, and ``CurlConnection`` on Linux, unless the machine's libcurl is
/// missing or older than 7.80: then it is ``URLSessionConnection`` there too. ``layers`` tells which it is, and why.
///
/// ```swift
/// let connection = SystemConnection()
///     .retrying()
/// print(connection.layers)
/// ```
///
/// What only one of them can do, such as roots of one's own or a proxy, needs that one.
public struct SystemConnection: Connection {
    private let transport: any Connection
    private let reason: String

    /// Creates a connection.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: The largest number of connections to one host; nil for the transport's own default.
    ///   - idleTimeout: How long a transfer may stand still where the request does not say.
    ///   - clock: The clock that the idle timeout goes by.
    public init(
        connectionsPerHost: Int? = nil,
        idleTimeout: Duration = .seconds(60),
        clock: any DatedClock = SystemClock()
    ) {
        self.init(
            SystemTransport(connectionsPerHost: connectionsPerHost, idleTimeout: idleTimeout, clock: clock))
    }

    init(_ choice: SystemTransport) {
        transport = choice.connection
        reason = choice.reason
    }

    /// One layer: that of the transport, with the reason why it was chosen.
    public var layers: [Layer] {
        transport.layers.map { layer in
            Layer(
                name: layer.name, role: layer.role, settings: layer.settings + [.init("chosen", reason)],
                facts: layer.facts, secretFields: layer.secretFields)
        }
    }

    /// Sends a request over the network.
    public func send(_ request: consuming Request) async throws -> Response {
        try await transport.send(request)
    }
}
