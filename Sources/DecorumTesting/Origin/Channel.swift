import Foundation
import Synchronization

/// A connection that the origin has accepted: a socket on which one task reads and writes by waiting its turn.
final class Channel: Sendable {
    enum Direction: Sendable {
        case reading
        case writing
    }

    private struct State {
        var reader: CheckedContinuation<Void, Never>?
        var writer: CheckedContinuation<Void, Never>?
        var task: Task<Void, Never>?
        var isPeerClosed = false
        var isReleased = false
    }

    private static let readSize = 64 << 10

    let socket: Socket
    let number: Int
    let listener: Listener
    private let state = Mutex(State())

    init(socket: Socket, number: Int, listener: Listener) {
        self.socket = socket
        self.number = number
        self.listener = listener
    }

    /// Names the task that serves the connection, which is cancelled when the peer closes its side or the socket closes.
    func attach(_ task: Task<Void, Never>) {
        let isOver = state.withLock { state in
            state.task = task
            return state.isPeerClosed || state.isReleased
        }
        if isOver { task.cancel() }
    }

    /// Reads what comes next, or nil when nothing comes any more.
    func receive() async -> [UInt8]? {
        while true {
            switch socket.receiveBytes(upTo: Self.readSize) {
            case .done(let bytes): return bytes.isEmpty ? nil : bytes
            case .failed: return nil
            case .wouldBlock: await wait(for: .reading)
            }
        }
    }

    /// Writes bytes as fast as the peer takes them.
    func send(_ data: Data, in range: Range<Int>) async throws(ChannelError) {
        var range = range
        while !range.isEmpty {
            switch socket.sendBytes(of: data, in: range) {
            case .done(let count): range = range.lowerBound + count..<range.upperBound
            case .failed: throw ChannelError()
            case .wouldBlock: await wait(for: .writing)
            }
        }
    }

    func send(_ data: Data) async throws(ChannelError) {
        try await send(data, in: 0..<data.count)
    }

    /// Closes the socket soon, with all that was written still on its way.
    func close() {
        listener.reactor.submit(.close(self))
    }

    private func wait(for direction: Direction) async {
        await withCheckedContinuation { continuation in
            let isReleased = state.withLock { state in
                guard !state.isReleased else { return true }
                switch direction {
                case .reading: state.reader = continuation
                case .writing: state.writer = continuation
                }
                return false
            }
            guard !isReleased else {
                continuation.resume()
                return
            }
            listener.reactor.submit(.watch(self, direction))
        }
    }
}

/// An event that the reactor's thread reports to a channel.
extension Channel {
    func wake(_ direction: Direction) {
        let continuation = state.withLock { state in
            switch direction {
            case .reading: state.reader.take()
            case .writing: state.writer.take()
            }
        }
        continuation?.resume()
    }

    func peerClosed() {
        let task = state.withLock { state in
            state.isPeerClosed = true
            return state.task
        }
        task?.cancel()
    }

    func release() {
        socket.release()
        let task = state.withLock { state in
            state.isReleased = true
            return state.task.take()
        }
        task?.cancel()
        wake(.reading)
        wake(.writing)
    }
}

/// A connection that broke, or that the origin has closed.
struct ChannelError: Error {}
