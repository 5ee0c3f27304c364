import Foundation
import HTTPTypes

/// The unread chunks of a shared body for each reader, and the waiting readers.
struct SharedBodyState {
    typealias Waiter = CheckedContinuation<Data?, any Error>
    typealias Continuation = CheckedContinuation<Void, Never>

    struct Reader {
        var chunks: ArraySlice<Data> = []
        var backlog = 0
        /// How long the others may still be delayed by this reader.
        var patience: Duration
        var waiter: Waiter?
    }

    /// The room in the readers' buffers for the next chunk.
    enum Room {
        case free
        /// These readers have to read first; the others wait at most this time, which is nil when no reader waits.
        case taken(by: [Int], patience: Duration?)
    }

    /// The body; nil once it is being read.
    var source: Body?
    var readers: [Int: Reader] = [:]
    /// The readers who were too slow.
    var detached: Set<Int> = []
    var end: Result<HTTPFields?, any Error>?
    var transfer: Task<Void, Never>?
    /// Whether the last reader has dropped the body.
    var isAbandoned = false
    /// The continuation of the transfer while it waits for a reader to want a chunk.
    var demand: Continuation?
    /// The continuation of the transfer while it waits for slow readers.
    var room: Continuation?
    private var lastReader = 0

    init(source: Body) {
        self.source = source
    }

    /// Whether a reader waits for a chunk.
    var isWanted: Bool { readers.values.contains { $0.waiter != nil } }

    mutating func join(patience: Duration) -> Int? {
        guard source != nil else { return nil }
        lastReader += 1
        readers[lastReader] = Reader(patience: patience)
        return lastReader
    }

    /// Takes the next chunk or the end, or registers the waiter for it.
    mutating func take(
        for reader: Int, orWaitWith waiter: Waiter?, limit: Int
    ) -> Result<Data?, any Error>? {
        guard readers[reader] != nil else {
            return .failure(
                detached.contains(reader) ? CoalescingBacklogError(limit: limit) : CancellationError())
        }
        if let chunk = readers[reader]?.chunks.popFirst() {
            readers[reader]?.backlog -= chunk.count
            return .success(chunk)
        }
        if let end { return end.map { _ in nil } }
        readers[reader]?.waiter = waiter
        return nil
    }

    /// Takes the continuations that wait for a change among the readers.
    mutating func takeWoken(wantingChunk: Bool) -> [Continuation] {
        let woken = [wantingChunk ? demand.take() : nil, room.take()]
        return woken.compactMap { $0 }
    }

    /// Gives a chunk to all readers, and returns the waiters to resume with it.
    mutating func deliver(_ chunk: Data) -> [Waiter] {
        var waiters: [Waiter] = []
        for number in readers.keys.sorted() {
            if let waiter = readers[number]?.waiter.take() {
                waiters.append(waiter)
            } else {
                readers[number]?.chunks.append(chunk)
                readers[number]?.backlog += chunk.count
            }
        }
        return waiters
    }

    /// Ends the body after the unread chunks, and returns the waiters to resume with the end.
    mutating func finish(_ end: Result<HTTPFields?, any Error>) -> [Waiter] {
        self.end = end
        transfer = nil
        return readers.keys.sorted().compactMap { readers[$0]?.waiter.take() }
    }

    /// Finds readers who have no room for a chunk, and detaches those whose time is over.
    mutating func room(for count: Int, limit: Int) -> Room {
        var slow: [Int] = []
        for (number, reader) in readers where reader.backlog > 0 && reader.backlog > limit - count {
            if reader.patience > .zero || !isWanted {
                slow.append(number)
            } else {
                readers[number] = nil
                detached.insert(number)
            }
        }
        guard !slow.isEmpty else { return .free }
        return .taken(by: slow, patience: isWanted ? slow.compactMap { readers[$0]?.patience }.min() : nil)
    }

    /// Records how long the others were delayed by slow readers.
    mutating func charge(_ duration: Duration, to slow: [Int]) {
        for number in slow {
            readers[number]?.patience -= duration
        }
    }
}
