#if os(Linux)
import DecorumCurl
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

extension IsolatedTests {
    /// The resources of a connection, and their release.
    @Suite(.timeLimit(.minutes(3))) struct CurlLifetimeTests {
        @Test func `The engine and the exchange are freed`() async throws {
            let origin = try LoopbackOrigin()
            origin.route(nil, "*", "ok")
            let library = try CurlLibrary()
            var connection: CurlConnection? = try CurlConnection(library: library)
            var engine = connection?.engines.main
            connection = nil
            weak let weakEngine = engine
            let request = try Request.get(origin.url + "/")
            weak var weakExchange: CurlExchange?
            do {
                let exchange = CurlExchange(
                    request, try CurlRequestHead(request, library), upload: try await CurlUpload(.empty),
                    limits: try TransferLimits(request.options, idleTimeout: .seconds(60)), since: .now,
                    watch: TimeLimitWatch(clock: SystemClock()), engine: try #require(engine), library: library)
                weakExchange = exchange
                try await exchange.response().body.drain(upTo: 100)
            }
            engine = nil

            try await origin.waitForOpenConnections(0)
            #expect(weakExchange == nil)
            #expect(weakEngine == nil)
        }

        @Test func `Closing ends the connections of the engine that avoids HTTP/2 too`() async throws {
            let origin = try LoopbackOrigin()
            origin.route(nil, "*", "ok")
            let library = try CurlLibrary()
            let connection = try CurlConnection(library: library)
            let request = try Request.get(origin.url + "/")
            try connection.engines.transfers.begin()
            let exchange = CurlExchange(
                request, try CurlRequestHead(request, library), upload: try await CurlUpload(.empty),
                limits: try TransferLimits(request.options, idleTimeout: .seconds(60)), since: .now,
                watch: TimeLimitWatch(clock: SystemClock()), engine: try connection.engines.avoidingHTTP2,
                library: library)
            try await exchange.response().body.drain(upTo: 100)
            #expect(origin.openConnectionCount == 1)

            await connection.close()
            try await origin.waitForOpenConnections(0)
        }

        /// The status files of the threads that the transport has started, with lines such as `SigBlk: 0000000000001000`.
        private static func statesOfThreads() throws -> [String] {
            let tasks = URL(filePath: "/proc/self/task")
            let names = try FileManager.default.contentsOfDirectory(atPath: tasks.path)
            // A thread may have ended since.
            return names.compactMap { try? String(contentsOf: tasks.appending(path: "\($0)/status"), encoding: .utf8) }
                .filter { $0.hasPrefix("Name:\tdecorum.curl\n") }
        }

        @Test func `The engine's thread has a name, and blocks the signal of a broken connection`()
            async throws
        {
            let origin = try LoopbackOrigin()
            origin.route(nil, "*", "ok")
            let connection = try CurlConnection()
            try await connection.send(.get(origin.url + "/")).body.drain(upTo: 100)

            let states = try Self.statesOfThreads()
            #expect(!states.isEmpty)
            for state in states {
                let line = try #require(state.split(separator: "\n").first { $0.hasPrefix("SigBlk:") })
                let mask = try #require(UInt64(line.split(separator: "\t")[1], radix: 16))
                #expect(mask & (1 << UInt64(SIGPIPE - 1)) != 0)
            }
            withExtendedLifetime(connection) {}
        }

        @Test func `A missing library is reported`() {
            let error = #expect(throws: CurlUnavailableError.self) { try CurlLibrary(["libdecorum-nowhere.so.4"]) }
            #expect(error?.reason == .missing)
            #expect(error?.version == nil)
            #expect(error?.description.contains("libdecorum-nowhere.so.4") == true)
        }

        @Test func `A library that is too old is reported with its version`() {
            let error = #expect(throws: CurlUnavailableError.self) {
                try CurlLibrary.check("7.76.1", 0x07_4C_01, isComplete: false)
            }
            #expect(error?.reason == .tooOld)
            #expect(error?.version == "7.76.1")
            #expect(error?.description.contains("7.76.1") == true)
        }

        @Test func `A refused option is named`() throws {
            let easy = try #require(CurlEasy(CurlLibrary()))
            easy.set(DECORUM_CURL_OPTION_NOSIGNAL, 1)
            #expect(easy.refusedName == nil)
            easy.set(DECORUM_CURL_OPTION_SSLVERSION, 9999)
            easy.set(DECORUM_CURL_OPTION_HTTP_VERSION, 9999)
            #expect(easy.refusedName == "SSLVERSION")

            let plain = CurlUnavailableError.unsupportedOption("8.0", "SSLVERSION", "Bad")
            #expect(plain.description == "libcurl 8.0 refuses CURLOPT_SSLVERSION: Bad.")
            let blob = CurlUnavailableError.unsupportedOption("8.0", "CAINFO_BLOB", "Bad")
            #expect(blob.description.contains("Pass certificates as files"))
        }

        @Test func `A refused fallback says why, and how to fix it`() throws {
            let choice = SystemTransport(
                connectionsPerHost: nil, idleTimeout: .seconds(60), clock: SystemClock(), libraries: ["nowhere.so"])

            let error = #expect(throws: CurlUnavailableError.self) {
                try SystemConnection(choice, fallingBack: false)
            }
            #expect(error?.reason == .missing)
            #expect(error?.description.contains("install libcurl") == true)
            #expect(try SystemConnection(choice, fallingBack: true).layers.map(\.name) == ["URLSessionConnection"])
            #expect(try SystemConnection(fallingBack: false).layers.map(\.name) == ["CurlConnection"])
            #expect(!SystemConnection().layers.description.contains("fallback"))
        }

        @Test func `The layer names the library and shows no secret`() throws {
            let proxy = try CurlConnection.Proxy("http://proxy.example:3128", user: "me", password: "secret-word")
            let connection = try CurlConnection(proxy: proxy)
            var text = ""
            dump(connection, to: &text)

            #expect(connection.layers.description.contains("libcurl: "))
            #expect(connection.layers.description.contains("http://proxy.example:3128"))
            #expect(!text.contains("secret-word"))
            #expect(!connection.layers.description.contains("secret-word"))
        }
    }
}

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
