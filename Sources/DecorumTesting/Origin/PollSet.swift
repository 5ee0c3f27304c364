#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

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

    init(wakeUp: Int32) {
        entries = [pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0)]
    }

    var isWakeUpReady: Bool { entries[0].revents != 0 }

    /// Sleeps until something is ready.
    mutating func poll() {
        let timeout = paused.isEmpty ? SocketPlatform.longestPoll : Self.listenerPause
        // The pointer does not leave the call, and the count is that of the entries.
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
