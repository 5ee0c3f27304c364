import Foundation
import Synchronization

/// The part of a response's body that has arrived and was not read yet: one producer, one consumer.
///
/// Up to a bound the bytes wait in memory, beyond it in a file, whose size is bounded too.
final class ResponseBuffer: Sendable {
    private struct State {
        var chunks: [Data] = []
        var memory = 0
        var file: SpoolFile?
        var written: Int64 = 0
        var read: Int64 = 0
        var end: Result<Void, any Error>?
        var waiter: CheckedContinuation<Void, Never>?

        var isDrained: Bool { chunks.isEmpty && read == written }

        mutating func discard() {
            chunks = []
            memory = 0
            file = nil
            written = 0
            read = 0
        }
    }

    /// What the consumer finds.
    enum Content {
        case chunks([Data])
        case filed(SpoolFile, count: Int, offset: Int64)
        case end
        case nothing
    }

    private static let filedChunkSize = 256 << 10

    let backlog: URLSessionConnection.Backlog
    private let state = Mutex(State())

    init(_ backlog: URLSessionConnection.Backlog) {
        self.backlog = backlog
    }

    /// The number of bytes that wait in memory, and in the file.
    var waiting: (memory: Int, disk: Int64) {
        state.withLock { ($0.memory, $0.written - $0.read) }
    }

    /// Adds bytes behind those that wait; what comes after the end is ignored.
    ///
    /// It throws when the bytes fit nowhere, upon which the producer ends the body with that error.
    func append(_ data: Data) throws {
        let waiter = try state.withLock { state in
            guard state.end == nil, !data.isEmpty else { return nil as CheckedContinuation<Void, Never>? }
            let isFiling = state.written > state.read
            if isFiling || (state.memory > 0 && state.memory + data.count > backlog.memory) {
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
        guard state.written - state.read + Int64(data.count) <= backlog.disk else {
            throw TransportError(.limitExceeded, at: .body)
        }
        do {
            let file = try state.file ?? SpoolFile()
            state.file = file
            try file.write(data, at: state.written)
            state.written += Int64(data.count)
        } catch {
            throw TransportError(.limitExceeded, at: .body, underlying: error)
        }
    }

    /// Ends the body, behind what waits to be read; only the first end counts.
    func finish(_ end: Result<Void, any Error>) {
        let waiter = state.withLock { state in
            guard state.end == nil else { return nil as CheckedContinuation<Void, Never>? }
            state.end = end
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Ends the body at once: what waits is dropped.
    func discard(_ error: any Error) {
        let waiter = state.withLock { state in
            state.discard()
            state.end = .failure(error)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Takes what has arrived; bytes in the file stay there until ``drop(_:)``.
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

    /// Takes note that bytes of the file were read.
    func drop(_ count: Int) {
        state.withLock { state in
            state.read = min(state.read + Int64(count), state.written)
            guard state.read == state.written, state.written > 0 else { return }
            // A new file costs less than the disk space that an old one keeps.
            state.file = nil
            state.read = 0
            state.written = 0
        }
    }

    /// Waits until there is something to take.
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
