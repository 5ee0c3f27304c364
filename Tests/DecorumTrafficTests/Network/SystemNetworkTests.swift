import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumTraffic

@Suite(.timeLimit(.minutes(3))) struct SystemNetworkTests {
    private static let usable = interface("eth0")

    @Test(
        arguments: [
            ([], nil, .unreachable), ([interface("lo") { $0.isLoopback = true }], nil, .unreachable),
            ([interface("eth0") { $0.isUp = false }], nil, .unreachable),
            ([interface("eth0") { $0.isRunning = false }], nil, .unreachable),
            ([interface("eth0") { $0.hasGlobalAddress = false }], nil, .unreachable),
            ([usable], nil, NetworkState(kind: .wired)),
            ([interface("wlan0") { $0.isWireless = true }], nil, NetworkState(kind: .wifi)),
            ([interface("tun0") { $0.hardwareType = 65534 }], nil, NetworkState(kind: .other)),
            ([interface("x0") { $0.hardwareType = nil }], nil, NetworkState(kind: .other)),
            ([usable, interface("wlan0") { $0.isWireless = true }], "wlan0", NetworkState(kind: .wifi)),
            (
                [usable, interface("wlan0") { ($0.isWireless, $0.isUp) = (true, false) }], "wlan0",
                NetworkState(kind: .wired)
            ),
            ([usable], "gone0", NetworkState(kind: .wired)),
        ] as [([NetworkInterface], String?, NetworkState)])
    func `A machine reaches servers by an interface that is up with an address beyond its link`(
        interfaces: [NetworkInterface], route: String?, state: NetworkState
    ) {
        #expect(NetworkState(interfaces, defaultRoute: route) == state)
    }

    @Test(
        arguments: [
            ([127, 0, 0, 1], false), ([0, 0, 0, 0], false), ([169, 254, 1, 1], false), ([224, 0, 0, 1], false),
            ([169, 253, 1, 1], true), ([10, 0, 0, 1], true), ([192, 0, 2, 1], true), ([192, 0, 2], false), ([], false),
            ([UInt8](repeating: 0, count: 16), false), ([UInt8](repeating: 0, count: 15) + [1], false),
            ([0xFE, 0x80] + [UInt8](repeating: 1, count: 14), false),
            ([0xFE, 0xBF] + [UInt8](repeating: 1, count: 14), false),
            ([0xFF, 0x02] + [UInt8](repeating: 1, count: 14), false),
            ([0xFD, 0x00] + [UInt8](repeating: 1, count: 14), true),
            ([0x20, 0x01] + [UInt8](repeating: 1, count: 14), true),
        ] as [([UInt8], Bool)])
    func `Addresses of the loopback, of one link and of groups are not global`(bytes: [UInt8], isGlobal: Bool) {
        #expect(NetworkInterface.isGlobal(bytes) == isGlobal)
    }

    @Test func `The default route that is used first has the lowest metric`() {
        let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        let routes = """
            eth1\t00000000\t010200C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
            eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
            down0\t00000000\t010200C0\t0002\t0\t0\t0\t00000000\t0\t0\t0
            half0\t00000000\t010200C0\t0003\t0\t0\t0\t00000080\t0\t0\t0
            eth2\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
            """
        #expect(NetworkInterface.defaultRoute(in: head + routes) == "eth0")
        for text in ["", head, "\n\n", head + "eth0\t00000000", head + "eth0 00000000 0 zz 0 0 0 00000000"] {
            #expect(NetworkInterface.defaultRoute(in: text) == nil)
        }
    }

    // Recorded from `ip link set lo up`, with the kernel's padding.
    private static let newAddress = bytes(
        "4c000000140000000000000000000000020880fe01000000080001007f000001080002007f000001070003006c6f000008000800"
            + "8000000014000600fffffffffffffffff7fb3700f7fb3700")
    private static let newRoute = bytes(
        "3c00000018000006000000000000000002200000ff02fe020000000008000f00ff000000080001007f000001080007007f000001"
            + "0800040001000000")
    private static let newNeighbour = bytes("14000000" + "1c000000" + "0000000000000000" + "02000000")
    private static let done = bytes("11000000" + "03000000" + "0000000000000000" + "00" + "000000")

    @Test(
        arguments: [
            (newAddress, true), (newRoute, true), (done, false), (newNeighbour, false), (done + newNeighbour, false),
            (done + newRoute, true), ([], false),
            // Broken: a length of less than a header, of more than is there, of the most, and a header that is cut.
            (bytes("0f000000030000000000000000000000"), true), (bytes("11000000030000000000000000000000"), true),
            (bytes("ffffffff030000000000000000000000"), true), (bytes("1000000003"), true), ([0], true),
        ] as [([UInt8], Bool)])
    func `A datagram tells a change, or breaks the rules`(bytes: [UInt8], tellsChange: Bool) {
        #expect(NetlinkMessages.tellChange(bytes) == tellsChange)
    }

    @Test func `Any bytes are read to their end`() {
        let count = ProcessInfo.processInfo.environment["DECORUM_SOAK"] == "1" ? 1_000_000 : 5_000
        let generator = SeededGenerator(seed: 20)
        var changes = 0
        for _ in 0..<count {
            var bytes = Self.newNeighbour + Self.done + Self.newNeighbour
            for _ in 0...generator.next() % 4 {
                bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: generator.next())
            }
            if NetlinkMessages.tellChange(bytes.prefix(Int(generator.next() % UInt64(bytes.count + 1)))) {
                changes += 1
            }
        }
        #expect(changes > 0 && changes < count)
    }

    #if os(Linux)
    @Test(arguments: [nil, 20] as [Int32?])
    func `The thread of a network ends with it`(polling: Int32?) async {
        weak var network: SettableNetwork?
        do {
            let followed = SettableNetwork(NetworkState(isCaptive: true))
            network = followed
            withExtendedLifetime(SystemNetworkWatch(telling: followed, readingEvery: polling)) {
                // It has read the interfaces.
                #expect(followed.state.isCaptive == nil)
            }
        }
        #expect(await soon { network == nil })
    }

    @Test(
        .enabled(if: NetworkNamespace.isPossible, "The process may not make network namespaces with interfaces."),
        arguments: [nil, 20] as [Int32?])
    func `A network comes with the address of an interface, and goes with the interface`(polling: Int32?) async throws {
        let namespace = try await NetworkNamespace(readingEvery: polling)
        defer { namespace.end() }
        #expect(namespace.network.state == .unreachable)
        var states = namespace.network.states().makeAsyncIterator()
        #expect(await states.next() == .unreachable)

        try namespace.ip("link add x0 type veth peer name x1")
        try namespace.ip("link set x0 up")
        try namespace.ip("link set x1 up")
        try namespace.ip("addr add 192.0.2.1/24 dev x0")
        let state = await states.next()
        // The file system of the kernel shows the interfaces of the first namespace.
        #expect(state?.isReachable == true && state?.kind != .wifi)

        try namespace.ip("link del x0")
        #expect(await states.next() == .unreachable)
    }
    #endif

    private static func interface(
        _ name: String, _ change: (inout NetworkInterface) -> Void = { _ in }
    ) -> NetworkInterface {
        var interface = NetworkInterface(name: name)
        (interface.isUp, interface.isRunning, interface.hasGlobalAddress, interface.hardwareType) = (
            true, true, true, 1
        )
        change(&interface)
        return interface
    }

    private static func bytes(_ digits: String) -> [UInt8] {
        let digits = Array(digits)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }
}

#if os(Linux)
/// A network namespace of Linux, with the network that a thread in it sees.
private final class NetworkNamespace: Sendable {
    let network: SettableNetwork
    private let watch: SystemNetworkWatch
    private let path: String
    private let isOver: DispatchSemaphore

    /// Whether this process may make a namespace with an interface.
    static let isPossible =
        (try? run("/usr/bin/env", ["unshare", "-n", "ip", "link", "add", "x0", "type", "veth", "peer", "name", "x1"]))
        != nil

    init(readingEvery polling: Int32?) async throws {
        let isOver = DispatchSemaphore(value: 0)
        let (network, watch, path) = try await withCheckedThrowingContinuation { continuation in
            // A namespace is one of the thread that has made it, and of the threads that this one starts.
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try Self.leaveNamespace()
                        let thread = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
                        let network = SettableNetwork()
                        return (
                            network, SystemNetworkWatch(telling: network, readingEvery: polling),
                            "/proc/\(thread)/ns/net"
                        )
                    })
                isOver.wait()
            }
        }
        (self.network, self.watch, self.path, self.isOver) = (network, watch, path, isOver)
    }

    func end() { isOver.signal() }

    func ip(_ arguments: String) throws {
        try Self.run(
            "/usr/bin/env", ["nsenter", "--net=\(path)", "ip"] + arguments.split(separator: " ").map(String.init))
    }

    private struct Failure: Error {}

    private static func leaveNamespace() throws {
        // Swift's module of the C library lacks the function, whose type is the one here.
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let symbol = unsafe dlsym(UnsafeMutableRawPointer(bitPattern: 0), "unshare") else { throw Failure() }
        let newNetwork: Int32 = 0x4000_0000
        guard unsafe unsafeBitCast(symbol, to: Unshare.self)(newNetwork) == 0 else { throw Failure() }
    }

    private static func run(_ path: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure() }
    }
}
#endif
