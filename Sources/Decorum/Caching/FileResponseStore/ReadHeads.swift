import Synchronization

/// The heads of files that were read recently, since parsing a head takes longer than reading it.
///
/// A head is known by the random number of its file, and by its checksum: the file itself is read and verified each
/// time.
final class ReadHeads: Sendable {
    private struct Entry {
        let key: ResponseKey
        let checksum: UInt64
        let head: ResponseFileHead
    }

    private struct State {
        var recent: [UInt64: Entry] = [:]
        var older: [UInt64: Entry] = [:]
    }

    private static let countLimit = 1000
    /// The largest head, in bytes, that is remembered, so that all of them take a few megabytes at most.
    private static let lengthLimit = 4096
    private let state = Mutex(State())

    /// The head of a file that was read before for the same key; otherwise nil.
    func head(_ slot: ResponseHeadSlot, nonce: UInt64, key: ResponseKey) -> ResponseFileHead? {
        state.withLock { state in
            guard let entry = state.recent[nonce] ?? state.older[nonce], entry.checksum == slot.checksum,
                entry.key == key
            else { return nil }
            if state.recent[nonce] == nil { Self.add(entry, nonce, to: &state) }
            return entry.head
        }
    }

    func note(_ head: ResponseFileHead, _ slot: ResponseHeadSlot, nonce: UInt64, key: ResponseKey) {
        guard slot.headLength <= Self.lengthLimit else { return }
        let entry = Entry(key: key, checksum: slot.checksum, head: head)
        state.withLock { Self.add(entry, nonce, to: &$0) }
    }

    /// Adds an entry; when there are too many, removes the entries that were not used since the last removal.
    private static func add(_ entry: Entry, _ nonce: UInt64, to state: inout State) {
        if state.recent.count >= countLimit {
            state.older = state.recent
            state.recent = [:]
        }
        state.recent[nonce] = entry
    }
}
