#if os(Linux)
import DecorumCurl
import Foundation

/// Owns the thread that all transfers of a connection run on, and ends it once nobody can start another.
///
/// The connection and each exchange hold the engine; the thread holds only the inbox.
final class CurlEngine: Sendable {
    private let inbox: CurlInbox
    /// Counts the exchanges, each from before it starts until its end.
    let transfers = OpenTransfers()

    init(_ library: CurlLibrary, _ settings: CurlSettings) throws(CurlUnavailableError) {
        try settings.check(library)
        guard let inbox = CurlInbox(library) else { throw .unusable(library.version) }
        self.inbox = inbox
        Thread.detachNewThread { CurlLoop(inbox, settings).run() }
    }

    deinit {
        inbox.post(.stop)
    }

    /// Starts nothing more, and ends the thread with its idle connections once nothing is under way.
    func close() async {
        await transfers.close()
        if transfers.isOver { inbox.post(.stop) }
    }

    func post(_ command: CurlInbox.Command) {
        inbox.post(command)
    }
}
#endif
