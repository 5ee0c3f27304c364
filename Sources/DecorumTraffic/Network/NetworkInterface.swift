import Decorum

/// The facts about an interface from which the state of the network follows.
struct NetworkInterface: Sendable, Hashable {
    let name: String
    var isUp = false
    var isRunning = false
    var isLoopback = false
    /// Whether it has an address that is valid beyond its link.
    var hasGlobalAddress = false
    var isWireless = false
    /// The number of its type of hardware (`ARPHRD_…`); nil if it is not known.
    var hardwareType: Int?

    private static let ethernet = 1

    fileprivate var kind: NetworkState.Kind {
        isWireless ? .wifi : hardwareType == Self.ethernet ? .wired : .other
    }

    fileprivate var reachesServers: Bool { isUp && isRunning && !isLoopback && hasGlobalAddress }

    /// Whether an IPv4 address of 4 bytes, or an IPv6 address of 16, is valid beyond its link.
    static func isGlobal(_ address: some Collection<UInt8>) -> Bool {
        let bytes = Array(address)
        switch bytes.count {
        case 4: return bytes[0] != 0 && bytes[0] != 127 && bytes[0] < 224 && !bytes.starts(with: [169, 254])
        case 16:
            if bytes.prefix(15).allSatisfy({ $0 == 0 }) { return false }
            return bytes[0] != 0xFF && !(bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80)
        default: return false
        }
    }

    /// Returns the interface of the default route that is used first, by the text of `/proc/net/route`; nil without one.
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

extension NetworkState {
    /// Decides by the interfaces of a machine.
    ///
    /// - Parameters:
    ///   - interfaces: The interfaces in the order of the system.
    ///   - defaultRoute: The name of the interface by which requests leave; nil if it is not known.
    init(_ interfaces: [NetworkInterface], defaultRoute: String? = nil) {
        let usable = interfaces.filter(\.reachesServers)
        guard let first = usable.first(where: { $0.name == defaultRoute }) ?? usable.first else {
            self = .unreachable
            return
        }
        self.init(kind: first.kind)
    }
}

/// The messages that the kernel sends about changes of links, addresses and routes (rtnetlink).
enum NetlinkMessages {
    private static let headerLength: Int64 = 16
    /// `RTM_NEWLINK`, `RTM_DELLINK`, `RTM_NEWADDR`, `RTM_DELADDR`, `RTM_NEWROUTE` and `RTM_DELROUTE`.
    private static let changes: Set<Int64> = [16, 17, 20, 21, 24, 25]

    /// Whether a datagram of the kernel may tell a change.
    ///
    /// It is true also for one that breaks the rules, since to read the interfaces again does no harm.
    static func tellChange(_ bytes: some RandomAccessCollection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        var start = 0
        while start < bytes.count {
            guard bytes.count - start >= headerLength else { return true }
            // The kernel has the byte order of the machine, which is that of all systems with Swift.
            let (length, type) = (number(bytes[start..<start + 4]), number(bytes[start + 4..<start + 6]))
            guard length >= headerLength, length <= bytes.count - start else { return true }
            if changes.contains(type) { return true }
            start += Int((length + 3) & ~3)
        }
        return false
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
        bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
    }
}
