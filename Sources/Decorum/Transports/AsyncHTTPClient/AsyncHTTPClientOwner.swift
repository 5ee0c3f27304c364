#if AsyncHTTPClient
import AsyncHTTPClient
import NIOCore

/// Holds on to a client, and shuts it down when it is let go, if it is ours.
///
/// A client that was forgotten ends the process in a debug build.
final class AsyncHTTPClientOwner: Sendable {
    let client: HTTPClient
    private let shutsDown: Bool
    private let loops: [any EventLoop]

    init(_ client: HTTPClient, shutsDown: Bool) {
        self.client = client
        self.shutsDown = shutsDown
        loops = client.eventLoopGroup.makeIterator().map(\.self)
    }

    deinit {
        // It waits for nobody: this may be the thread of an event loop.
        if shutsDown { client.shutdown { _ in } }
    }

    /// Waits until the event loops have done what they were given to do.
    func settle() async throws {
        let turns = loops.map { loop in loop.submit {} }
        for turn in turns { try await turn.get() }
    }
}
#endif
