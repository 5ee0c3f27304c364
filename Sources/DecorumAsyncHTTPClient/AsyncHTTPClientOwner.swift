#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import NIOCore
import NIOPosix

/// Owns a client that the connection has made, or refers to one of the app's.
///
/// A client of the connection is shut down when the owner is closed or dropped, since a client that is dropped without it
/// ends the process in a debug build.
final class AsyncHTTPClientOwner: Sendable {
    let client: HTTPClient
    /// The client's HTTP/2 connections; nil for a client of the app's, whose connections cannot be observed.
    let connections: HTTP2Connections?
    let transfers = OpenTransfers()
    private let loops: [any EventLoop]

    private init(_ client: HTTPClient, _ connections: HTTP2Connections?) {
        self.client = client
        self.connections = connections
        loops = client.eventLoopGroup.makeIterator().map(\.self)
    }

    /// Makes a client, which the owner shuts down.
    convenience init(_ configuration: HTTPClient.Configuration, clock: any DatedClock) {
        let connections = HTTP2Connections(clock: clock)
        // On Apple's systems, the default are loops of Network.framework, on which the handlers of connections do not work.
        let client = HTTPClient(
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            configuration: connections.observing(configuration.checkingConnections()))
        self.init(client, connections)
    }

    /// Refers to a client that the app shuts down.
    convenience init(_ client: HTTPClient) {
        self.init(client, nil)
    }

    private var ownsClient: Bool { connections != nil }

    deinit {
        // Without waiting, since this may be the thread of an event loop. A second shutdown has no effect but an error.
        if ownsClient { client.shutdown { _ in } }
    }

    /// Waits until the event loops have done the work that was given to them before the call.
    func settle() async throws {
        let turns = loops.map { loop in loop.submit {} }
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
#endif
