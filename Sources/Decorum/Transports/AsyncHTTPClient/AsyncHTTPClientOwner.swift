#if AsyncHTTPClient
import AsyncHTTPClient

/// Holds on to a client, and shuts it down when it is let go, if it is ours.
///
/// A client that was forgotten ends the process in a debug build.
final class AsyncHTTPClientOwner: Sendable {
    let client: HTTPClient
    private let shutsDown: Bool

    init(_ client: HTTPClient, shutsDown: Bool) {
        self.client = client
        self.shutsDown = shutsDown
    }

    deinit {
        // It waits for nobody: this may be the thread of an event loop.
        if shutsDown { client.shutdown { _ in } }
    }
}
#endif
