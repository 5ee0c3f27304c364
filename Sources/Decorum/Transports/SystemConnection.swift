/// Sends requests with the transport that suits the system best.
///
/// That is ``URLSessionConnection`` on Apple's systems, and ``CurlConnection`` on Linux, unless the machine's libcurl is
/// missing or older than 7.80: then it is ``URLSessionConnection`` there too, with all the limits that it has on Linux,
/// and nothing else tells of it. ``layers`` says which it is, why, and with `fallback: true` that it is not the first
/// choice. ``init(fallingBack:connectionsPerHost:idleTimeout:clock:)`` refuses in place of that.
///
/// ```swift
/// let connection = SystemConnection()
///     .retrying()
/// print(connection.layers)
///
/// let strict = try SystemConnection(fallingBack: false)
/// ```
///
/// What only one of them can do, such as roots of one's own or a proxy, needs that one.
public struct SystemConnection: Connection {
    private let choice: SystemTransport

    /// Creates a connection, with URLSession where the system's own choice is not there.
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

    /// Creates a connection that does without URLSession on Linux, if so asked.
    ///
    /// A server can end a process that uses URLSession on Linux, which makes it no choice for servers that are not
    /// trusted. An app that talks to such servers calls this with `false` when it starts.
    ///
    /// - Parameters:
    ///   - fallingBack: Whether URLSession takes the place of a libcurl that is missing or cannot be used. On Apple's
    ///     systems URLSession is the first choice, and this has no effect.
    ///   - connectionsPerHost: The largest number of connections to one host; nil for the transport's own default.
    ///   - idleTimeout: How long a transfer may stand still where the request does not say.
    ///   - clock: The clock that the idle timeout goes by.
    /// - Throws: `CurlUnavailableError`, which says how to mend it, where `fallingBack` is false and there is no libcurl
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

    init(_ choice: SystemTransport, fallingBack: Bool) throws {
        if !fallingBack, let missing = choice.missing { throw missing }
        self.init(choice)
    }

    init(_ choice: SystemTransport) {
        self.choice = choice
    }

    /// One layer: that of the transport, with the reason why it was chosen, and whether it is the one to fall back to.
    public var layers: [Layer] {
        choice.connection.layers.map { layer in
            Layer(
                name: layer.name, role: layer.role,
                settings: layer.settings + (choice.missing == nil ? [] : [.init("fallback", true)])
                    + [.init("chosen", choice.reason)],
                facts: layer.facts, secretFields: layer.secretFields)
        }
    }

    /// Sends a request over the network.
    public func send(_ request: consuming Request) async throws -> Response {
        try await choice.connection.send(request)
    }

    /// Ends what is under way in its own time, and refuses new requests, as the chosen transport does.
    ///
    /// A request that is sent from now on fails with ``TransportError/Code/closed``. Where the task that calls is
    /// cancelled, the call returns at once.
    public func close() async {
        await choice.close()
    }
}
