import Foundation
import HTTPTypes
import Synchronization

/// The bytes of a response's body that have arrived and were not read yet, for one producer and one consumer.
///
/// Up to a bound the bytes are kept in memory, and beyond it in a file, whose size is bounded too.
final class URLSessionResponseBuffer: Sendable {
    private struct State: ~Copyable {
        var chunks: [Data] = []
        var memory = 0
        var file: OpenFile?
        var written: Int64 = 0
        var read: Int64 = 0
        var end: Result<Void, any Error>?
        var waiter: CheckedContinuation<Void, Never>?

        var isDrained: Bool { chunks.isEmpty && read == written }
    }

    /// The bytes that the consumer takes next.
    enum Content {
        case chunks([Data])
        case filed(OpenFile, count: Int, offset: Int64)
        case end
        case nothing
    }

    private static let filedChunkSize = 256 << 10

    /// The number of bytes that may wait in memory.
    let memoryBound: Int
    private let diskBound: Int64
    private let state = Mutex(State())

    init(memoryBound: Int, diskBound: Int64) {
        (self.memoryBound, self.diskBound) = (memoryBound, diskBound)
    }

    /// The number of bytes that wait in memory, and of those in the file.
    var waiting: (memory: Int, disk: Int64) {
        state.withLock { ($0.memory, $0.written - $0.read) }
    }

    /// Adds bytes behind the waiting ones; bytes after the end are ignored.
    ///
    /// It throws when there is no room for the bytes. The producer then ends the body with that error.
    func append(_ data: Data) throws {
        let waiter = try state.withLock { state in
            guard state.end == nil, !data.isEmpty else { return nil as CheckedContinuation<Void, Never>? }
            let isFiling = state.written > state.read
            if isFiling || (state.memory > 0 && state.memory + data.count > memoryBound) {
                try file(data, in: &state)
            } else {
                state.chunks.append(data)
                state.memory += data.count
            }
            return state.waiter.take()
        }
        waiter?.resume()
    }

    private func file(_ data: Data, in state: inout sending State) throws {
        guard state.written - state.read + Int64(data.count) <= diskBound else {
            throw TransportError(.limitExceeded, at: .body)
        }
        do {
            let file = try state.file ?? OpenFile()
            state.file = file
            try file.write(data, at: state.written)
            state.written += Int64(data.count)
        } catch {
            throw TransportError(.limitExceeded, at: .body, underlying: error)
        }
    }

    /// Ends the body behind the bytes that wait; only the first end counts.
    func finish(_ end: Result<Void, any Error>) {
        let waiter = state.withLock { state in
            guard state.end == nil else { return nil as CheckedContinuation<Void, Never>? }
            state.end = end
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Ends the body at once and drops the bytes that wait.
    func discard(_ error: any Error) {
        let waiter = state.withLock { state in
            let waiter = state.waiter.take()
            state = State(end: .failure(error))
            return waiter
        }
        waiter?.resume()
    }

    /// Takes the next bytes; those in the file stay there until ``drop(_:)``.
    func take() throws -> Content {
        try state.withLock { state in
            if !state.chunks.isEmpty {
                defer {
                    state.chunks = []
                    state.memory = 0
                }
                return .chunks(state.chunks)
            }
            if let file = state.file, state.read < state.written {
                let count = Int(min(state.written - state.read, Int64(Self.filedChunkSize)))
                return .filed(file, count: count, offset: state.read)
            }
            try state.end?.get()
            return state.end == nil ? .nothing : .end
        }
    }

    /// Removes bytes of the file, which were read.
    func drop(_ count: Int) {
        state.withLock { state in
            state.read = min(state.read + Int64(count), state.written)
            guard state.read == state.written, state.written > 0 else { return }
            // Making a new file later costs less than the disk space that this one would keep.
            state.file = nil
            state.read = 0
            state.written = 0
        }
    }

    /// Waits until there are bytes, or the end, to take.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                guard state.isDrained, state.end == nil else { return true }
                state.waiter = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

/// Reads the body of a response while it arrives.
struct URLSessionBodyReader: BodyReader {
    private let lease: TransferLease<URLSessionExchange>
    private var batch: ArraySlice<Data> = []

    init(_ lease: TransferLease<URLSessionExchange>) {
        self.lease = lease
    }

    mutating func next() async throws -> Data? {
        if !Task.isCancelled, let chunk = batch.popFirst() { return chunk }
        let exchange = lease.exchange
        return try await withTaskCancellationHandler {
            try await receive(from: exchange)
        } onCancel: {
            exchange.cancel()
        }
    }

    private mutating func receive(from exchange: URLSessionExchange) async throws -> Data? {
        while true {
            switch try exchange.buffer.take() {
            case .chunks(let chunks):
                exchange.readerHasRead()
                batch = chunks[...]
                return batch.popFirst()
            case .filed(let file, let count, let offset):
                let data: Data
                do {
                    data = try await file.chunk(count, at: offset)
                } catch {
                    throw TransportError(.other, at: .body, underlying: error)
                }
                exchange.buffer.drop(count)
                exchange.readerHasRead()
                return data
            case .end:
                return nil
            case .nothing:
                await exchange.buffer.wait()
            }
        }
    }

    var trailers: HTTPFields? { nil }
}
