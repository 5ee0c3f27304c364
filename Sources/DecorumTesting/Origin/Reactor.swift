import Dispatch
import Foundation
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// A thread that accepts connections and wakes the tasks whose sockets are ready.
///
/// It alone closes the sockets of channels, so that poll(2) never sees a descriptor that means something else by now.
final class Reactor: Sendable {
    enum Change: Sendable {
        case watch(Channel, Channel.Direction)
        case close(Channel)
        /// Closes the channels with at most this number.
        case closeAll(upTo: Int)
    }

    private struct Shared {
        var changes: [Change] = []
        var isSleeping = false
        var isStopping = false
    }

    private let shared = Mutex(Shared())
    private let listener: Socket
    private let wakeUp: WakeUp
    private let ended = DispatchSemaphore(value: 0)
    private let opened: @Sendable (Channel) -> Void
    private let closed: @Sendable (Channel) -> Void

    /// Starts the thread.
    ///
    /// Both closures are called on the thread, and must not block.
    init(
        listener: Socket,
        opened: @escaping @Sendable (Channel) -> Void,
        closed: @escaping @Sendable (Channel) -> Void
    ) throws(SocketError) {
        self.listener = listener
        self.opened = opened
        self.closed = closed
        wakeUp = try WakeUp()
        Thread.detachNewThread { [self] in
            // On Linux a name is lost that is given before the thread runs.
            Thread.current.name = "LoopbackOrigin"
            run()
        }
    }

    func submit(_ change: Change) {
        shared.withLock { shared in
            // A stopping thread closes every channel, and must not be told of one that refers to it afterwards.
            guard !shared.isStopping else { return }
            shared.changes.append(change)
            if shared.isSleeping { wakeUp.signal() }
            shared.isSleeping = false
        }
    }

    /// Closes all sockets, ends the thread, and returns when it has ended.
    func stop() {
        shared.withLock { shared in
            // The thread closes the pipe once it has seen this, so that only the first may signal.
            guard !shared.isStopping else { return }
            shared.isStopping = true
            wakeUp.signal()
        }
        ended.wait()
        // The next caller finds the thread ended too.
        ended.signal()
    }

    private func run() {
        var set = PollSet(listener: listener.number, wakeUp: wakeUp.number)
        var connectionCount = 0
        while true {
            let (changes, isStopping) = shared.withLock { shared in
                defer {
                    shared.changes.removeAll(keepingCapacity: true)
                    shared.isSleeping = true
                }
                return (shared.changes, shared.isStopping)
            }
            for change in changes {
                apply(change, to: &set)
            }
            guard !isStopping else { break }

            set.poll()
            shared.withLock { $0.isSleeping = false }
            if set.isWakeUpReady { wakeUp.clear() }
            set.deliver()
            if set.isListenerReady { accept(into: &set, count: &connectionCount) }
        }
        listener.release()
        apply(.closeAll(upTo: connectionCount), to: &set)
        wakeUp.release()
        ended.signal()
    }

    private func apply(_ change: Change, to set: inout PollSet) {
        switch change {
        case .watch(let channel, let direction):
            set.watch(channel, direction)
        case .close(let channel):
            guard set.remove(channel) else { return }
            channel.release()
            closed(channel)
        case .closeAll(let number):
            for channel in set.channels where channel.number <= number {
                apply(.close(channel), to: &set)
            }
        }
    }

    private func accept(into set: inout PollSet, count: inout Int) {
        while true {
            switch listener.acceptNext() {
            case .done(let socket):
                count += 1
                let channel = Channel(socket: socket, number: count, reactor: self)
                set.insert(channel)
                opened(channel)
            case .wouldBlock:
                return
            case .failed:
                // Without a descriptor to spare, asking again at once would spin.
                set.pauseListening()
                return
            }
        }
    }
}

/// A pipe that ends the sleep of poll(2).
private struct WakeUp: Sendable {
    let number: Int32
    private let writing: Int32

    init() throws(SocketError) {
        var descriptors: [Int32] = [-1, -1]
        // The system writes two descriptors into the array of two.
        guard unsafe pipe(&descriptors) == 0 else { throw SocketError(call: "pipe") }
        number = descriptors[0]
        writing = descriptors[1]
        SocketPlatform.makeNonblocking(number)
        SocketPlatform.makeNonblocking(writing)
    }

    func signal() {
        // A full pipe wakes as well as a fuller one.
        _ = unsafe write(writing, [1], 1)
    }

    func clear() {
        var bytes = [UInt8](repeating: 0, count: 64)
        // The system writes no more bytes than the array has.
        while unsafe read(number, &bytes, bytes.count) == bytes.count {}
    }

    func release() {
        _ = close(number)
        _ = close(writing)
    }
}
