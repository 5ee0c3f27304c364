#if AsyncHTTPClient
import AsyncHTTPClient
import NIOCore

/// Holds on to a client, and shuts it down when it is let go or closed, if it is ours.
///
/// A client that was forgotten ends the process in a debug build.
final class AsyncHTTPClientOwner: Sendable {
    let client: HTTPClient
    /// The client's HTTP/2 connections; nil for a client of the app's, of which they are not known.
    let connections: HTTP2Connections?
    let transfers = OpenTransfers()
    private let loops: [any EventLoop]

    private init(_ client: HTTPClient, _ connections: HTTP2Connections?) {
        self.client = client
        self.connections = connections
        loops = client.eventLoopGroup.makeIterator().map(\.self)
    }

    /// Makes a client of ours.
    convenience init(_ configuration: HTTPClient.Configuration, clock: any DatedClock) {
        let connections = HTTP2Connections(clock: clock)
        self.init(HTTPClient(configuration: connections.watching(configuration)), connections)
    }

    /// Takes a client of the app's.
    convenience init(_ client: HTTPClient) {
        self.init(client, nil)
    }

    private var isOurs: Bool { connections != nil }

    deinit {
        // It does not wait, since this may be the thread of an event loop. A client that was shut down says so, and no more.
        if isOurs { client.shutdown { _ in } }
    }

    /// Waits until the event loops have done what they were given to do.
    func settle() async throws {
        let turns = loops.map { loop in loop.submit {} }
        for turn in turns { try await turn.get() }
    }

    /// Refuses new requests, waits for those that are under way, and shuts down the client if it is ours.
    func close() async {
        await transfers.close()
        guard isOurs, transfers.isOver else { return }
        await withCheckedContinuation { continuation in
            // An error says that it was shut down before.
            client.shutdown { _ in continuation.resume() }
        }
    }
}
#endif
