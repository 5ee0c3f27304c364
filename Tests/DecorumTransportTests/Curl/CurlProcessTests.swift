#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension ProcessTests {
    /// What the transport does with descriptors, the environment and a name server of its process.
    @Suite(.timeLimit(.minutes(3))) struct CurlProcessTests {
        /// The open descriptors that a child process inherits.
        private static func inherited() throws -> Set<Int32> {
            let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            return Set(
                names.compactMap { Int32($0) }.filter { descriptor in
                    let flags = fcntl(descriptor, F_GETFD)
                    return flags >= 0 && flags & FD_CLOEXEC == 0
                })
        }

        @Test func `A child process inherits no descriptor of a transport or an origin`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                // After the first exchange, the runtime has opened all its own descriptors.
                let earlier = (origin: try LoopbackOrigin(), connection: try CurlConnection())
                earlier.origin.route(nil, "*", "ok")
                try await earlier.connection.send(.get(earlier.origin.url + "/")).body.drain(upTo: 10)
                let before = try Self.inherited()
                let origin = try LoopbackOrigin()
                let gate = Gate()
                origin.route(
                    nil, "*", .script(.head(.ok, ["Content-Length": "1"]), .wait(gate), .raw("a")))
                let connection = try CurlConnection()
                let first = try await connection.send(.get(origin.url + "/"))
                let second = try await connection.send(.get("http://localhost:\(origin.port)/"))

                let added = try Self.inherited().subtracting(before)
                let links = added.map { number in
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")) ?? ""
                }
                #expect(links == [])
                #expect(origin.openConnectionCount == 2)
                gate.open()
                try await first.body.drain(upTo: 10)
                try await second.body.drain(upTo: 10)
                withExtendedLifetime(earlier) {}
            }
        }

        @Test(.enabled("only a superuser can replace the name server") { await SilentNameServer.isPossible() })
        func `A name lookup without a response does not delay other exchanges`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let origin = try LoopbackOrigin()
                origin.route(nil, "*", "ok")
                let names = try SilentNameServer()
                let connection = try CurlConnection()
                let lookup = Task { try await connection.send(.get("http://silent.test/")) }
                await names.waitForQuestion()

                lookup.cancel()
                await #expect(throws: CancellationError.self) { try await lookup.value }
                let start = ContinuousClock.now
                let response = try await connection.send(.get(origin.url + "/"))

                #expect(try await response.body.text(upTo: 10) == "ok")
                #expect(start.duration(to: .now) < .seconds(8))
            }
        }

        @Test func `The environment's proxy is ignored`() async {
            await #expect(processExitsWith: .success) {
                ProcessTests.begin()
                let proxy = try LoopbackOrigin.refusing()
                for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
                    _ = unsafe setenv(name, proxy.url, 1)
                }
                let origin = try LoopbackOrigin()
                origin.route(nil, "*", "ok")
                let response = try await CurlConnection().send(.get(origin.url + "/"))
                #expect(response.status == .ok)
            }
        }
    }
}

/// A name server that never responds, for the threads that the calling thread starts; it requires a superuser.
struct SilentNameServer {
    struct Failure: Error {
        let code = errno
    }

    private typealias Unshare = @convention(c) (CInt) -> CInt
    private typealias Mount =
        @convention(c) (
            UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>?, CUnsignedLong, UnsafeRawPointer?
        ) -> CInt

    /// Whether the process may have its own view of the file system.
    static func isPossible() async -> Bool {
        (try? await RunningScript.output(of: "unshare --mount true")) != nil
    }

    private let socket: CInt

    /// Replaces the system's name server.
    init() throws {
        socket = Glibc.socket(AF_INET, SocketPlatform.datagramType, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_004D).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(socket, $0, size) == 0 }
        }
        guard isBound else { throw Failure() }

        let configuration = FileManager.default.temporaryDirectory.appending(path: "names-\(getpid())")
        try Data("nameserver 127.0.0.77\noptions timeout:15 attempts:1\n".utf8).write(to: configuration)
        let (newMounts, bound, allPrivate): (CInt, CUnsignedLong, CUnsignedLong) = (0x2_0000, 0x1000, 0x4_4000)
        // These two functions are not declared for Swift.
        let unshare = unsafe unsafeBitCast(dlsym(nil, "unshare"), to: Unshare.self)
        let mount = unsafe unsafeBitCast(dlsym(nil, "mount"), to: Mount.self)
        guard unshare(newMounts) == 0, unsafe mount("none", "/", nil, allPrivate, nil) == 0,
            unsafe mount(configuration.path, "/etc/resolv.conf", nil, bound, nil) == 0
        else { throw Failure() }
    }

    /// Waits until a name is looked up.
    func waitForQuestion() async {
        var byte: UInt8 = 0
        while unsafe recv(socket, &byte, 1, CInt(MSG_DONTWAIT)) < 0 { await Task.yield() }
    }
}
#endif
