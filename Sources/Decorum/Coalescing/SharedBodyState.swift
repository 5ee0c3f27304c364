import Foundation
import HTTPTypes

/// What the readers of a shared body have still to read, and who waits for what.
struct SharedBodyState {
    typealias Waiter = CheckedContinuation<Data?, any Error>

    struct Reader {
        var chunks: ArraySlice<Data> = []
        var backlog = 0
        /// How long the others may still be held up for this reader.
        var patience: Duration
        var waiter: Waiter?
    }

    /// What the readers give the task that reads ahead of them.
    enum Room {
        case free
        /// These readers have to read first; the others have this long to wait for them, or nobody waits.
        case taken(by: [Int], patience: Duration?)
    }

    /// The body; nil once somebody reads it.
    var source: Body?
    var readers: [Int: Reader] = [:]
    /// The readers who were too slow.
    var detached: Set<Int> = []
    var end: Result<HTTPFields?, any Error>?
    var pump: Task<Void, Never>?
    /// Whether the last reader has gone.
    var isAbandoned = false
    /// The pump, where it waits for somebody to want a chunk.
    var demand: Wakening?
    /// The pump, where it waits for slow readers.
    var room: Wakening?
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

    /// Takes the next chunk, or the end, or leaves who waits for it.
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

    /// Takes who waits for a change among the readers.
    mutating func takeWoken(wantingChunk: Bool) -> [Wakening] {
        let woken = [wantingChunk ? demand.take() : nil, room.take()]
        return woken.compactMap { $0 }
    }

    /// Gives a chunk to everybody, and returns those who wait for it.
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

    /// Ends the body behind what waits to be read, and returns those who wait for the end.
    mutating func finish(_ end: Result<HTTPFields?, any Error>) -> [Waiter] {
        self.end = end
        pump = nil
        return readers.keys.sorted().compactMap { readers[$0]?.waiter.take() }
    }

    /// Looks for readers who have no room for a chunk, and detaches those whose time is over.
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

    /// Takes note how long the others were held up by slow readers.
    mutating func charge(_ duration: Duration, to slow: [Int]) {
        for number in slow {
            readers[number]?.patience -= duration
        }
    }
}
