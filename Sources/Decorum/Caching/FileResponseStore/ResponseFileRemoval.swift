import Synchronization

/// A removal of files of a store.
enum ResponseFileRemoval: Sendable {
    case key(ResponseKeyDigest)
    case uri(ResponseKeyDigest)
    case principal(digest: UInt64)
    case all

    func covers(_ name: ResponseFileName) -> Bool {
        switch self {
        case .key(let key): name.digest == key
        case .uri(let uri): name.digest.uri == uri.uri
        case .principal(let digest): name.digest.principal == digest
        case .all: true
        }
    }

    /// The only folder that has the files; nil when they may be in all folders.
    var folder: Int? {
        switch self {
        case .key(let digest), .uri(let digest): digest.folder
        case .principal, .all: nil
        }
    }
}

/// The removals that the disk refused, as while too many files are open: the files that they cover count as removed
/// nevertheless.
final class RefusedRemovals: Sendable {
    struct Entry: Sendable {
        let removal: ResponseFileRemoval
        /// The time of the removal; responses to later requests stay.
        let time: Int64
        fileprivate let number: Int

        /// Whether a response whose request was sent at a time came before the removal.
        ///
        /// A time in the future is from before the clock was set back, so it is not known which of them came first.
        func comesAfter(requestAt time: Int64, now: Int64) -> Bool { time <= self.time || time > now }
    }

    /// Above this limit, one removal of everything replaces all removals.
    private static let countLimit = 100
    private let state = Mutex<(last: Int, entries: [Entry])>((0, []))

    var all: [Entry] { state.withLock { $0.entries } }

    func add(_ removal: ResponseFileRemoval, at time: Int64) {
        state.withLock { state in
            state.last += 1
            let isFull = state.entries.count >= Self.countLimit
            if isFull { state.entries = [] }
            state.entries.append(Entry(removal: isFull ? .all : removal, time: time, number: state.last))
        }
    }

    func drop(_ entry: Entry) {
        state.withLock { $0.entries.removeAll { $0.number == entry.number } }
    }

    /// Whether the file of a response, whose request was sent at a time, is one that should be gone.
    func cover(_ name: ResponseFileName, sentAt time: Int64, now: @autoclosure () -> Int64) -> Bool {
        state.withLock { state in
            state.entries.contains { $0.removal.covers(name) && $0.comesAfter(requestAt: time, now: now()) }
        }
    }
}
