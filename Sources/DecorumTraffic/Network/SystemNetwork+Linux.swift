#if os(Linux)
import Decorum
import Foundation

/// A thread that reads the interfaces after each change that the kernel tells, and again and again, until the network is
/// released.
struct SystemNetworkWatch: Sendable {
    init(
        telling network: SettableNetwork, over netlink: FileHandle? = Self.netlink(),
        readingEvery milliseconds: Int32 = 5000
    ) {
        // The socket was opened before, so that no change between the two is lost.
        Self.state().map(network.set)
        let thread = Thread { [weak network] in
            while true {
                // Some machines change their routes all the time.
                Thread.sleep(forTimeInterval: 0.1)
                let descriptor = netlink?.fileDescriptor ?? -1
                var (change, byte) = (pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0), UInt8(0))
                // The system writes to no more than the one value that it is told. It only waits if there is no socket.
                _ = unsafe poll(&change, 1, milliseconds)
                // The messages tell nothing that the interfaces do not.
                while unsafe recv(descriptor, &byte, 1, 0) > 0 {}
                guard let network else { return }
                Self.state().map(network.set)
            }
        }
        thread.name = "decorum.network"
        thread.stackSize = 512 << 10
        thread.start()
    }

    /// A socket over which the kernel tells changes of links, addresses and routes; nil if that is forbidden.
    static func netlink() -> FileHandle? {
        let flags = SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        // Swift lacks <linux/rtnetlink.h>: the number of the family, and `struct sockaddr_nl` with the groups.
        let family: UInt32 = 16
        let address: [UInt32] = [family, 0, 0x1 | 0x10 | 0x100 | 0x40 | 0x400]
        let descriptor = socket(Int32(family), Int32(flags), 0)
        guard descriptor >= 0 else { return nil }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // The system reads as many bytes as the address has.
        let isBound = unsafe address.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
        }
        return isBound ? handle : nil
    }

    /// The state by the interfaces; nil if they cannot be read.
    private static func state() -> NetworkState? {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard unsafe getifaddrs(&list) == 0 else { return nil }
        defer { unsafe freeifaddrs(list) }
        var names: [String] = []
        var next = unsafe list
        while let entry = unsafe next?.pointee {
            unsafe next = unsafe entry.ifa_next
            guard let address = unsafe entry.ifa_addr,
                unsafe reachesServers(flags: Int(entry.ifa_flags), address: bytes(of: address))
            else { continue }
            unsafe names.append(String(cString: entry.ifa_name))
        }
        let route = defaultRoute(in: text("/proc/thread-self/net/route"))
        guard let name = names.first(where: { $0 == route }) ?? names.first else { return .unreachable }
        let folder = "/sys/class/net/\(name)"
        let isWireless = unsafe access("\(folder)/wireless", F_OK) == 0
        return NetworkState(kind: kind(isWireless: isWireless, type: text("\(folder)/type")))
    }

    private static func bytes(of address: UnsafePointer<sockaddr>) -> [UInt8] {
        let start = unsafe UnsafeRawPointer(address)
        // The family says where in its structure the address stands, and how long it is.
        return switch Int32(unsafe address.pointee.sa_family) {
        case AF_INET: unsafe Array(UnsafeRawBufferPointer(start: start + 4, count: 4))
        case AF_INET6: unsafe Array(UnsafeRawBufferPointer(start: start + 8, count: 16))
        default: []
        }
    }

    private static func text(_ path: String) -> String {
        // The table of a router may have a million lines.
        let data = try? FileHandle(forReadingAtPath: path)?.read(upToCount: 64 << 10)
        return String(decoding: data ?? Data(), as: UTF8.self)
    }
}

extension SystemNetworkWatch {
    /// Whether an interface is up, running and no loopback, and its IPv4 address of 4 bytes, or IPv6 address of 16, is valid
    /// beyond its link.
    static func reachesServers(flags: Int, address bytes: [UInt8]) -> Bool {
        let wanted = Int(IFF_UP) | Int(IFF_RUNNING)
        guard flags & (wanted | Int(IFF_LOOPBACK)) == wanted else { return false }
        switch bytes.count {
        case 4: return bytes[0] != 0 && bytes[0] != 127 && bytes[0] < 224 && !bytes.starts(with: [169, 254])
        case 16:
            if bytes.prefix(15).allSatisfy({ $0 == 0 }) { return false }
            return bytes[0] != 0xFF && !(bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80)
        default: return false
        }
    }

    /// The kind of an interface by the number of its type of hardware (`ARPHRD_…`).
    static func kind(isWireless: Bool, type: String) -> NetworkState.Kind {
        isWireless ? .wifi : type.filter(\.isNumber) == "1" ? .wired : .other
    }

    /// The interface of the default route that is used first, by the text of `/proc/net/route`; nil without one.
    static func defaultRoute(in table: String) -> String? {
        var best: (name: String, metric: Int)?
        for line in table.split(separator: "\n").dropFirst() {
            let columns = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard columns.count >= 8, columns[1] == "00000000", columns[7] == "00000000",
                let flags = Int(columns[3], radix: 16), flags & 1 != 0, let metric = Int(columns[6])
            else { continue }
            if metric < best?.metric ?? .max { best = (String(columns[0]), metric) }
        }
        return best?.name
    }
}
#endif
