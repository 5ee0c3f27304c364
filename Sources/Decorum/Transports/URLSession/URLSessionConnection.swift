import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends requests with Foundation's URLSession.
///
/// <doc:choosing-a-transport> says what it does on each system, and what cannot be mended on Linux.
public struct URLSessionConnection: Connection {
    /// How much of a response may wait for its reader, once the reader is slower than the server.
    public struct Backlog: Sendable, Hashable {
        /// The number of bytes that may wait in memory.
        public let memory: Int
        /// The number of bytes that may wait in a temporary file.
        public let disk: Int64

        /// Creates bounds; a negative number counts as 0.
        ///
        /// - Parameters:
        ///   - memory: The number of bytes that may wait in memory; one chunk of the network's always may.
        ///   - disk: The number of bytes that may wait in a temporary file, beyond those in memory.
        public init(memory: Int = 1 << 20, disk: Int64 = 1 << 30) {
            self.memory = max(memory, 0)
            self.disk = max(disk, 0)
        }
    }

    private let owner: URLSessionOwner
    private let watch: IdleWatch
    private let connectionsPerHost: Int
    private let idleTimeout: Duration
    private let backlog: Backlog

    /// Creates a connection with a session of its own, which lives as long as the connection and what it sent.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: The largest number of connections to one host; less than 1 counts as 1.
    ///   - idleTimeout: How long a transfer may stand still where the request does not say.
    ///   - backlog: How much of a response may wait for a slow reader.
    ///   - clock: The clock that the idle timeout goes by.
    public init(
        connectionsPerHost: Int = 6,
        idleTimeout: Duration = .seconds(60),
        backlog: Backlog = Backlog(),
        clock: any DatedClock = SystemClock()
    ) {
        self.init(
            connectionsPerHost: connectionsPerHost, idleTimeout: idleTimeout, backlog: backlog, clock: clock,
            platform: URLSessionPlatform())
    }

    init(
        connectionsPerHost: Int, idleTimeout: Duration, backlog: Backlog, clock: any DatedClock,
        platform: URLSessionPlatform
    ) {
        self.connectionsPerHost = max(connectionsPerHost, 1)
        self.idleTimeout = idleTimeout
        self.backlog = backlog
        owner = URLSessionOwner(connectionsPerHost: self.connectionsPerHost, platform: platform)
        watch = IdleWatch(clock: clock)
    }

    /// One layer, the transport.
    public var layers: [Layer] {
        [
            Layer(
                name: "URLSessionConnection", role: .transport,
                settings: [
                    .init("connectionsPerHost", connectionsPerHost), .init("idleTimeout", idleTimeout),
                    .init("backlog", backlog),
                ],
                facts: [.readsClock])
        ]
    }

    /// Sends a request over the network.
    public func send(_ request: consuming Request) async throws -> Response {
        let request = request
        try request.validate()
        let head = try URLRequest(request.head)
        let idleTimeout = request.options.idleTimeout ?? idleTimeout
        guard idleTimeout >= .zero else {
            throw InvalidRequestError(.negativeNumber, "The idle timeout is negative.")
        }
        guard request.body.isEmpty || (request.head.method != .get && request.head.method != .head) else {
            throw InvalidRequestError(
                .invalidBody, "URLSession cannot send content with GET or HEAD; use another method, such as QUERY.")
        }
        try Task.checkCancellation()
        guard idleTimeout > .zero else { throw TransportError(.timedOut, at: .connecting) }

        let upload = try await Upload(request.body)
        let exchange = URLSessionExchange(
            request, upload: upload, idleTimeout: idleTimeout, backlog: backlog, watch: watch, control: owner.control)
        return try await exchange.response { owner.start(exchange, head) }
    }
}

extension URLSessionConnection.Backlog: CustomStringConvertible {
    /// Both bounds, in words.
    public var description: String { "\(memory) bytes in memory, \(disk) on disk" }
}
