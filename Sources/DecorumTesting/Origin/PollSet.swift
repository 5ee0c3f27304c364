#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// The descriptors that the reactor's thread watches.
struct PollSet {
    private static let fixedCount = 2
    /// In milliseconds.
    private static let listenerPause: Int32 = 20

    private var entries: [pollfd]
    private var members: [Channel] = []
    private var indices: [Int32: Int] = [:]
    private var readyCount: Int32 = 0
    private let listener: Int32

    init(listener: Int32, wakeUp: Int32) {
        self.listener = listener
        entries = [
            pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0),
        ]
    }

    var channels: [Channel] { members }
    private var isListening: Bool { entries[0].fd == listener }
    var isListenerReady: Bool { entries[0].revents != 0 }
    var isWakeUpReady: Bool { entries[1].revents != 0 }

    /// Sleeps until something is ready.
    mutating func poll() {
        let timeout = isListening ? -1 : Self.listenerPause
        // The pointer does not leave the call, and the count is that of the entries.
        let outcome = unsafe entries.withUnsafeMutableBufferPointer { buffer in
            unsafe waitForEvents(buffer.baseAddress, nfds_t(buffer.count), timeout)
        }
        entries[0].fd = listener
        readyCount = max(0, outcome)
        // A failure, such as an interruption, leaves the results as they were.
        guard outcome < 0 else { return }
        for index in entries.indices { entries[index].revents = 0 }
    }

    mutating func insert(_ channel: Channel) {
        indices[channel.socket.number] = entries.count
        entries.append(pollfd(fd: channel.socket.number, events: SocketPlatform.peerClosedEvents, revents: 0))
        members.append(channel)
    }

    /// Tells whether the channel was in the set.
    mutating func remove(_ channel: Channel) -> Bool {
        guard let index = index(of: channel) else { return false }
        indices[channel.socket.number] = nil
        let last = entries.count - 1
        if index != last {
            entries[index] = entries[last]
            members[index - Self.fixedCount] = members[last - Self.fixedCount]
            indices[members[index - Self.fixedCount].socket.number] = index
        }
        entries.removeLast()
        members.removeLast()
        return true
    }

    mutating func watch(_ channel: Channel, _ direction: Channel.Direction) {
        guard let index = index(of: channel) else { return }
        entries[index].fd = channel.socket.number
        entries[index].events |= direction.events
    }

    /// Leaves new connections alone for a moment, since there is no descriptor to accept them with.
    mutating func pauseListening() {
        entries[0].fd = -1
    }

    /// Wakes the tasks of the channels that are ready, each of which has to ask again.
    mutating func deliver() {
        var rest = readyCount - (isListenerReady ? 1 : 0) - (isWakeUpReady ? 1 : 0)
        var index = Self.fixedCount - 1
        while rest > 0, index + 1 < entries.count {
            index += 1
            let ready = entries[index].revents
            guard ready != 0 else { continue }
            rest -= 1
            let channel = members[index - Self.fixedCount]
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
    }

    private func index(of channel: Channel) -> Int? {
        guard let index = indices[channel.socket.number], members[index - Self.fixedCount] === channel else {
            return nil
        }
        return index
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
