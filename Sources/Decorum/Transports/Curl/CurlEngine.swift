#if os(Linux)
import DecorumCurl
import Foundation

/// Owns the thread that all transfers of a connection run on, and ends it once nobody can start another.
///
/// The connection and each exchange hold the engine; the thread holds only the inbox.
final class CurlEngine: Sendable {
    private let inbox: CurlInbox
    private let progress = Locked<ContinuousClock.Instant?>(nil)

    init(_ library: CurlLibrary, _ settings: CurlSettings) throws(CurlUnavailableError) {
        try settings.check(library)
        guard let inbox = CurlInbox(library) else { throw .unusable(library.version) }
        self.inbox = inbox
        Thread.detachNewThread { CurlLoop(inbox, settings).run() }
    }

    deinit {
        inbox.post(.stop)
    }

    /// When bytes were last sent or received for any exchange; nil where none was yet.
    var lastProgress: ContinuousClock.Instant? { progress.withLock { $0 } }

    func noteProgress(at instant: ContinuousClock.Instant) {
        progress.withLock { $0 = instant }
    }

    func post(_ command: CurlInbox.Command) {
        inbox.post(command)
    }
}
#endif
