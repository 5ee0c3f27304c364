import Synchronization

/// The lines that a listing has written.
final class Entries: Sendable {
    private let entries = Mutex<[String]>([])

    var all: [String] { entries.withLock { $0 } }

    func append(_ entry: String) {
        entries.withLock { $0.append(entry) }
    }
}
