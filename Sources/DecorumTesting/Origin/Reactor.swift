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

    /// The reactor of the process, whose thread starts with the first origin and sleeps while no origin exists.
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

/// The descriptors that the reactor's thread watches.
struct PollSet {
    enum Member {
        case listener(Listener)
        case channel(Channel)

        var socket: Socket {
            switch self {
            case .listener(let listener): listener.socket
            case .channel(let channel): channel.socket
            }
        }

        var identifier: ObjectIdentifier { ObjectIdentifier(socket) }
    }

    /// In milliseconds.
    private static let listenerPause: Int32 = 20

    /// The pipe that wakes the thread, and then one entry for each member.
    private var entries: [pollfd]
    private var members: [Member] = []
    private var indices: [ObjectIdentifier: Int] = [:]
    private var readyCount: Int32 = 0
    private var paused: [Listener] = []

    init(wakeUp: Int32) { entries = [pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0)] }

    var isWakeUpReady: Bool { entries[0].revents != 0 }

    /// Sleeps until something is ready.
    mutating func poll() {
        let timeout = paused.isEmpty ? SocketPlatform.longestPoll : Self.listenerPause
        // The pointer does not leave the call, and the count belongs to the entries.
        let outcome = unsafe entries.withUnsafeMutableBufferPointer { buffer in
            unsafe waitForEvents(buffer.baseAddress, nfds_t(buffer.count), timeout)
        }
        for listener in paused { setDescriptor(listener.socket.number, of: .listener(listener)) }
        paused = []
        readyCount = max(0, outcome)
        // A failure, such as an interruption, leaves the results as they were.
        guard outcome < 0 else { return }
        for index in entries.indices { entries[index].revents = 0 }
    }

    mutating func insert(_ member: Member) {
        let events =
            switch member {
            case .listener: Int16(POLLIN)
            case .channel: SocketPlatform.peerClosedEvents
            }
        indices[member.identifier] = entries.count
        entries.append(pollfd(fd: member.socket.number, events: events, revents: 0))
        members.append(member)
    }

    /// Tells whether the member was in the set.
    mutating func remove(_ member: Member) -> Bool {
        guard let index = indices.removeValue(forKey: member.identifier) else { return false }
        let (lastEntry, lastMember) = (entries.removeLast(), members.removeLast())
        if index < entries.count {
            entries[index] = lastEntry
            members[index - 1] = lastMember
            indices[lastMember.identifier] = index
        }
        return true
    }

    mutating func watch(_ channel: Channel, _ direction: Channel.Direction) {
        guard let index = indices[Member.channel(channel).identifier] else { return }
        entries[index].fd = channel.socket.number
        entries[index].events |= direction.events
    }

    /// Leaves the new connections of a listener alone for a moment, since there is no descriptor to accept them with.
    mutating func pause(_ listener: Listener) {
        setDescriptor(-1, of: .listener(listener))
        paused.append(listener)
    }

    func channels(of listener: Listener) -> [Channel] {
        members.compactMap { member in
            if case .channel(let channel) = member, channel.listener === listener { channel } else { nil }
        }
    }

    /// Wakes the tasks of the channels that are ready, each of which has to ask again.
    ///
    /// - Returns: The listeners that have new connections.
    mutating func deliver() -> [Listener] {
        var listeners: [Listener] = []
        var rest = readyCount - (isWakeUpReady ? 1 : 0)
        var index = 0
        while rest > 0, index + 1 < entries.count {
            index += 1
            let ready = entries[index].revents
            guard ready != 0 else { continue }
            rest -= 1
            switch members[index - 1] {
            case .listener(let listener): listeners.append(listener)
            case .channel(let channel): deliver(ready, to: channel, at: index)
            }
        }
        return listeners
    }

    private mutating func deliver(_ ready: Int16, to channel: Channel, at index: Int) {
        let failed = Int16(POLLHUP | POLLERR | POLLNVAL)
        if ready & (SocketPlatform.peerClosedEvents | failed) != 0 {
            entries[index].events &= ~SocketPlatform.peerClosedEvents
            channel.peerClosed()
        }
        for direction in [Channel.Direction.reading, .writing] where ready & (direction.events | failed) != 0 {
            entries[index].events &= ~direction.events
            channel.wake(direction)
        }
        // Failures are reported whether asked for or not: without a task to hear of them, they would spin.
        if ready & failed != 0 { entries[index].fd = -1 }
    }

    private mutating func setDescriptor(_ descriptor: Int32, of member: Member) {
        if let index = indices[member.identifier] { entries[index].fd = descriptor }
    }
}

// Within the set, `poll` is the set's own.
private func waitForEvents(_ entries: UnsafeMutablePointer<pollfd>?, _ count: nfds_t, _ timeout: Int32) -> Int32 {
    unsafe poll(entries, count, timeout)
}

extension Channel.Direction {
    fileprivate var events: Int16 {
        switch self {
        case .reading: Int16(POLLIN)
        case .writing: Int16(POLLOUT)
        }
    }
}

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

    /// Reads what comes next, or returns nil at the end.
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

    func send(_ data: Data) async throws(ChannelError) { try await send(data, in: 0..<data.count) }

    /// Closes the socket soon, with all that was written still on its way.
    func close() { listener.reactor.submit(.close(self)) }

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
