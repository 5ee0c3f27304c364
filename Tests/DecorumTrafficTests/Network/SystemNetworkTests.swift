#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3))) struct SystemNetworkTests {
    // Up and running; 0x8 is a loopback.
    private static let usable = 0x1 | 0x40
    private static let address: [UInt8] = [192, 0, 2, 1]

    @Test(
        arguments: [
            (usable, address, true), (0x1, address, false), (0x40, address, false), (usable | 0x8, address, false),
            (usable, [], false), (usable, [192, 0, 2], false), (usable, [127, 0, 0, 1], false),
            (usable, [0, 0, 0, 0], false), (usable, [169, 254, 1, 1], false), (usable, [224, 0, 0, 1], false),
            (usable, [169, 253, 1, 1], true), (usable, bytes([], 0), false), (usable, bytes([], 1), false),
            (usable, bytes([0xFE, 0x80], 1), false), (usable, bytes([0xFE, 0xBF], 1), false),
            (usable, bytes([0xFF, 0x02], 1), false), (usable, bytes([0xFD, 0x00], 1), true),
        ] as [(Int, [UInt8], Bool)])
    func `An interface with an address beyond its link reaches servers`(flags: Int, address: [UInt8], isUsed: Bool) {
        #expect(SystemNetworkWatch.reachesServers(flags: flags, address: address) == isUsed)
    }

    /// An IPv6 address by its first bytes and its last one.
    private static func bytes(_ first: [UInt8], _ last: UInt8) -> [UInt8] {
        first + [UInt8](repeating: 0, count: 15 - first.count) + [last]
    }

    @Test(
        arguments: [(false, "1\n", .wired), (true, "1\n", .wifi), (false, "65534\n", .other), (false, "", .other)]
            as [(Bool, String, NetworkState.Kind)])
    func `The kind of an interface follows from its hardware`(isWireless: Bool, type: String, kind: NetworkState.Kind) {
        #expect(SystemNetworkWatch.kind(isWireless: isWireless, type: type) == kind)
    }

    @Test func `The default route that is used first has the lowest metric`() {
        let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        let routes = """
            eth1\t00000000\t010200C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
            eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
            down0\t00000000\t010200C0\t0002\t0\t0\t0\t00000000\t0\t0\t0
            half0\t00000000\t010200C0\t0003\t0\t0\t0\t00000080\t0\t0\t0
            """
        #expect(SystemNetworkWatch.defaultRoute(in: head + routes) == "eth0")
        for text in ["", head, "\n\n", head + "eth0\t00000000", head + "eth0 00000000 0 zz 0 0 0 00000000"] {
            #expect(SystemNetworkWatch.defaultRoute(in: text) == nil)
        }
    }

    @Test func `The thread of a network ends with it`() async throws {
        weak var netlink: FileHandle?
        do {
            let network = SettableNetwork(NetworkState(isCaptive: true))
            let handle = try #require(SystemNetworkWatch.netlink())
            netlink = handle
            _ = SystemNetworkWatch(telling: network, over: handle, readingEvery: 20)
            // It has read the interfaces.
            #expect(network.state.isCaptive == nil)
        }
        #expect(await soon { netlink == nil })
    }

    @Test(
        .enabled(if: (try? run("unshare -n ip link add x0 type veth")) != nil, "The process may make no namespace."),
        arguments: [true, false])
    func `M102: A network comes with the address of an interface, and goes with it`(isTold: Bool) async throws {
        let (network, comes, goes) = (SettableNetwork(), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        // A namespace is one of the thread that has made it, and of the threads and processes that this one starts.
        Thread.detachNewThread {
            do {
                try Self.leaveNamespace()
                let netlink = isTold ? SystemNetworkWatch.netlink() : nil
                _ = SystemNetworkWatch(telling: network, over: netlink, readingEvery: isTold ? 60_000 : 20)
                comes.wait()
                try Self.run("ip link add x0 type veth peer name x1; ip link set x0 up; ip link set x1 up")
                try Self.run("ip addr add 192.0.2.1/24 dev x0")
                goes.wait()
                try Self.run("ip link del x0")
            } catch { Issue.record(error) }
        }
        #expect(await soon { network.state == .unreachable })
        comes.signal()
        #expect(await soon { network.state.isReachable })
        goes.signal()
        #expect(await soon { network.state == .unreachable })
    }

    private static func leaveNamespace() throws {
        // Swift's module of the C library lacks the function, whose type is the one here.
        typealias Unshare = @convention(c) (Int32) -> Int32
        let newNetwork: Int32 = 0x4000_0000
        guard let symbol = unsafe dlsym(UnsafeMutableRawPointer(bitPattern: 0), "unshare"),
            unsafe unsafeBitCast(symbol, to: Unshare.self)(newNetwork) == 0
        else { throw POSIXError(.EPERM) }
    }

    private static func run(_ commands: String) throws {
        let process = try Process.run(URL(filePath: "/bin/sh"), arguments: ["-c", "exec 2>&-; \(commands)"])
        process.waitUntilExit()
        if process.terminationStatus != 0 { throw POSIXError(.EPERM) }
    }
}
#endif
