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

/// A thread that accepts connections for all origins of the process, and wakes the tasks whose sockets are ready.
///
/// It alone closes the sockets of channels, so that poll(2) never sees a descriptor that means something else by now.
final class Reactor: Sendable {
    enum Change: Sendable {
        case listen(Listener)
        /// Closes the listener and its channels, and tells when they are closed.
        case end(Listener, DispatchSemaphore)
        case watch(Channel, Channel.Direction)
        case close(Channel)
        /// Closes the channels of the listener with at most this number.
        case closeAll(Listener, upTo: Int)
    }

    private struct Shared {
        var changes: [Change] = []
        var isSleeping = false
    }

    private static let current = Mutex<Reactor?>(nil)

    private let shared = Mutex(Shared())
    private let wakeUp: WakeUp

    /// The reactor of the process, whose thread starts with the first origin and sleeps while there is none.
    static func ofProcess() throws(SocketError) -> Reactor {
        try current.withLock { (current: inout Reactor?) throws(SocketError) -> Reactor in
            if let current { return current }
            let reactor = try Reactor()
            current = reactor
            return reactor
        }
    }

    private init() throws(SocketError) {
        wakeUp = try WakeUp()
        Thread.detachNewThread { [self] in
            // On Linux a name is lost that is given before the thread runs.
            Thread.current.name = "LoopbackOrigin"
            run()
        }
    }

    func submit(_ change: Change) {
        shared.withLock { shared in
            shared.changes.append(change)
            if shared.isSleeping { wakeUp.signal() }
            shared.isSleeping = false
        }
    }

    private func run() -> Never {
        var set = PollSet(wakeUp: wakeUp.number)
        while true {
            let changes = shared.withLock { shared in
                defer {
                    shared.changes.removeAll(keepingCapacity: true)
                    shared.isSleeping = true
                }
                return shared.changes
            }
            for change in changes {
                apply(change, to: &set)
            }

            set.poll()
            shared.withLock { $0.isSleeping = false }
            if set.isWakeUpReady { wakeUp.clear() }
            for listener in set.deliver() { accept(from: listener, into: &set) }
        }
    }

    private func apply(_ change: Change, to set: inout PollSet) {
        switch change {
        case .listen(let listener):
            set.insert(.listener(listener))
        case .end(let listener, let ended):
            if set.remove(.listener(listener)) {
                listener.socket.release()
                apply(.closeAll(listener, upTo: .max), to: &set)
            }
            ended.signal()
        case .watch(let channel, let direction):
            set.watch(channel, direction)
        case .close(let channel):
            guard set.remove(.channel(channel)) else { return }
            channel.release()
            channel.listener.closed()
        case .closeAll(let listener, let number):
            for channel in set.channels(of: listener) where channel.number <= number {
                apply(.close(channel), to: &set)
            }
        }
    }

    private func accept(from listener: Listener, into set: inout PollSet) {
        while true {
            switch listener.socket.acceptNext() {
            case .done(let socket):
                let channel = listener.channel(of: socket)
                set.insert(.channel(channel))
                listener.opened(channel)
            case .wouldBlock:
                return
            case .failed:
                // Without a descriptor to spare, asking again at once would spin.
                set.pause(listener)
                return
            }
        }
    }
}

/// The socket on which an origin listens, with the closures that hear of its connections.
///
/// The reactor calls both closures on its thread, so they must not block.
final class Listener: Sendable {
    let socket: Socket
    let reactor: Reactor
    let opened: @Sendable (Channel) -> Void
    let closed: @Sendable () -> Void
    private let connectionCount = Mutex(0)

    /// Starts to listen.
    init(
        _ socket: Socket, opened: @escaping @Sendable (Channel) -> Void, closed: @escaping @Sendable () -> Void
    ) throws(SocketError) {
        try socket.startListening()
        self.socket = socket
        self.opened = opened
        self.closed = closed
        reactor = try Reactor.ofProcess()
        reactor.submit(.listen(self))
    }

    func channel(of socket: Socket) -> Channel {
        let number = connectionCount.withLock { count in
            count += 1
            return count
        }
        return Channel(socket: socket, number: number, listener: self)
    }

    /// Closes all sockets, and returns when they are closed.
    func stop() {
        let ended = DispatchSemaphore(value: 0)
        reactor.submit(.end(self, ended))
        ended.wait()
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
}
