#if os(Linux)
import Decorum
import Foundation

/// A thread that reads the interfaces after each change that the kernel tells; it ends with this object.
final class SystemNetworkWatch: Sendable {
    /// The end of a pipe at whose close the thread ends.
    private let end: FileHandle?

    /// Begins to watch.
    ///
    /// - Parameters:
    ///   - network: The network whose state is set.
    ///   - polling: The milliseconds between two readings; nil to let the kernel tell changes, if it does.
    init(telling network: SettableNetwork, readingEvery polling: Int32? = nil) {
        // Opened before the first reading, so that no change between the two is lost.
        let netlink = polling == nil ? NetlinkSocket() : nil
        InterfaceReading.state().map(network.set)
        var ends: [Int32] = [-1, -1]
        // The system writes two descriptors into the array of two.
        guard unsafe pipe(&ends) == 0 else {
            end = nil
            return
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        end = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        let stop = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        let thread = Thread { Self.follow(netlink, orReadingEvery: polling ?? 5000, telling: network, until: stop) }
        thread.name = "decorum.network"
        thread.stackSize = 512 << 10
        thread.start()
    }

    private static func follow(
        _ netlink: NetlinkSocket?, orReadingEvery polling: Int32, telling network: SettableNetwork,
        until stop: FileHandle
    ) {
        var netlink = netlink
        while true {
            // Some machines change their routes all the time.
            guard wait(for: nil, until: stop, milliseconds: min(polling, 100)) != .isOver else { return }
            switch wait(for: netlink, until: stop, milliseconds: netlink == nil ? polling : -1) {
            case .isOver: return
            case .timeIsOver: break
            case .hasMessages:
                switch netlink?.receive() {
                case .change?: break
                case .nothing?: continue
                case .failure?, nil: netlink = nil
                }
            }
            InterfaceReading.state().map(network.set)
        }
    }

    private enum Wake { case isOver, timeIsOver, hasMessages }

    /// Waits for a message, or for the close of the other end of the pipe.
    private static func wait(for netlink: NetlinkSocket?, until stop: FileHandle, milliseconds: Int32) -> Wake {
        var polled = [pollfd(fd: stop.fileDescriptor, events: 0, revents: 0)]
        if let netlink { polled.append(pollfd(fd: netlink.descriptor, events: Int16(POLLIN), revents: 0)) }
        while true {
            // The array has as many entries as the system is told.
            let count = unsafe poll(&polled, nfds_t(polled.count), milliseconds)
            if count < 0, errno == EINTR { continue }
            if count < 0 || polled[0].revents != 0 { return .isOver }
            return count == 0 ? .timeIsOver : .hasMessages
        }
    }
}

/// A socket over which the kernel tells changes of links, addresses and routes.
private final class NetlinkSocket: Sendable {
    enum Outcome { case change, nothing, failure }

    private let handle: FileHandle
    var descriptor: Int32 { handle.fileDescriptor }

    // Swift's module of the C library lacks <linux/rtnetlink.h>.
    private static let family: Int32 = 16
    private static let linkGroup: UInt32 = 0x1
    private static let addressGroups: UInt32 = 0x10 | 0x100
    private static let routeGroups: UInt32 = 0x40 | 0x400

    /// `struct sockaddr_nl`.
    private struct Address {
        var family: UInt16 = 0
        var padding: UInt16 = 0
        var process: UInt32 = 0
        var groups: UInt32 = 0
    }

    /// Opens the socket; nil if that is forbidden.
    init?() {
        let flags = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(Self.family, flags, 0)
        guard descriptor >= 0 else { return nil }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var address = Address(
            family: UInt16(Self.family), groups: Self.linkGroup | Self.addressGroups | Self.routeGroups)
        let length = socklen_t(MemoryLayout<Address>.size)
        // The system reads as many bytes as the address has.
        let isBound = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), length) == 0
        }
        guard isBound else { return nil }
    }

    /// Takes all messages that are there; at most a thousand, so that the thread can end.
    func receive() -> Outcome {
        var outcome = Outcome.nothing
        var buffer = [UInt8](repeating: 0, count: 32 << 10)
        for _ in 0..<1000 {
            var sender = Address()
            var length = socklen_t(MemoryLayout<Address>.size)
            // The system writes no more than the lengths that it is told.
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe withUnsafeMutableBytes(of: &sender) { address in
                    unsafe recvfrom(
                        descriptor, bytes.baseAddress, bytes.count, Int32(MSG_TRUNC),
                        address.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
                }
            }
            switch (count, errno) {
            case (..<0, EAGAIN), (0, _): return outcome
            case (..<0, EINTR): continue
            // The kernel had more to tell than the socket holds.
            case (..<0, ENOBUFS): outcome = .change
            case (..<0, _): return .failure
            default:
                // Any process may send to the socket; only the kernel has the number 0.
                guard sender.process == 0 else { continue }
                if count > buffer.count || NetlinkMessages.tellChange(buffer.prefix(count)) { outcome = .change }
            }
        }
        return outcome
    }
}

/// The reading of the interfaces of the machine.
enum InterfaceReading {
    private static let tableLimit = 64 << 10

    /// The state by the interfaces; nil if they cannot be read.
    static func state() -> NetworkState? {
        let route = NetworkInterface.defaultRoute(in: text("/proc/thread-self/net/route"))
        return interfaces().map { NetworkState($0, defaultRoute: route) }
    }

    private static func interfaces() -> [NetworkInterface]? {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&list) == 0 else { return nil }
        defer { unsafe freeifaddrs(list) }
        var found: [NetworkInterface] = []
        var next = unsafe list
        while let entry = unsafe next?.pointee {
            unsafe next = unsafe entry.ifa_next
            let name = unsafe String(cString: entry.ifa_name)
            let flags = Int(unsafe entry.ifa_flags)
            let index = found.firstIndex { $0.name == name } ?? found.count
            if index == found.count {
                var interface = NetworkInterface(name: name)
                interface.isUp = flags & Int(IFF_UP) != 0
                interface.isRunning = flags & Int(IFF_RUNNING) != 0
                interface.isLoopback = flags & Int(IFF_LOOPBACK) != 0
                let folder = "/sys/class/net/\(name)"
                interface.isWireless = unsafe access("\(folder)/wireless", F_OK) == 0
                interface.hardwareType = Int(text("\(folder)/type").filter(\.isNumber))
                found.append(interface)
            }
            if let address = unsafe entry.ifa_addr, unsafe isGlobal(address) { found[index].hasGlobalAddress = true }
        }
        return found
    }

    private static func isGlobal(_ address: UnsafeMutablePointer<sockaddr>) -> Bool {
        // The family says of which type the address is.
        switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET:
            unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                unsafe withUnsafeBytes(of: address.pointee.sin_addr) { unsafe NetworkInterface.isGlobal(Array($0)) }
            }
        case AF_INET6:
            unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                unsafe withUnsafeBytes(of: address.pointee.sin6_addr) { unsafe NetworkInterface.isGlobal(Array($0)) }
            }
        default: false
        }
    }

    private static func text(_ path: String) -> String {
        guard let file = FileHandle(forReadingAtPath: path) else { return "" }
        let data = try? file.read(upToCount: tableLimit)
        return String(decoding: data ?? Data(), as: UTF8.self)
    }
}
#endif
