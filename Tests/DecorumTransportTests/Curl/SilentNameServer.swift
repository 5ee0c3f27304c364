#if os(Linux)
import DecorumTesting
import Foundation

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
