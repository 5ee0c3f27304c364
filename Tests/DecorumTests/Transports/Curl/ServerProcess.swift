#if os(Linux)
import DecorumTesting
import Foundation

/// A program that serves while a test runs, with a certificate of its own for 127.0.0.1 and localhost.
final class ServerProcess: Sendable {
    static let openssl = path(of: "openssl", variable: "DECORUM_OPENSSL")
    static let nginx = path(of: "nginx", variable: "DECORUM_NGINX")

    private static func path(of name: String, variable: String) -> String? {
        let environment = ProcessInfo.processInfo.environment
        let folders = (environment["PATH"] ?? "").split(separator: ":").map(String.init) + ["/usr/sbin"]
        let candidates = [environment[variable]].compactMap { $0 } + folders.map { "\($0)/\(name)" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    let folder: URL
    let port: Int
    private let process = Process()
    private let input = Pipe()

    var url: String { "https://127.0.0.1:\(port)" }
    var certificate: URL { folder.appending(path: "certificate.pem") }
    var key: URL { folder.appending(path: "key.pem") }

    private init() async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "decorum-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Free a moment ago: nobody tells a program to take any port.
        let origin = try LoopbackOrigin()
        port = origin.port
        origin.stop()
        try await run(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=decorum \
            -addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout key.pem -out certificate.pem 2>openssl.log
            openssl x509 -in certificate.pem -noout -pubkey | openssl pkey -pubin -outform der \
            | openssl dgst -sha256 -binary >pin
            """)
    }

    deinit {
        // A child of the test's process has SIGTERM blocked.
        kill(process.processIdentifier, SIGKILL)
        try? FileManager.default.removeItem(at: folder)
    }

    /// Runs a program that answers every request with a page.
    static func openssl(_ arguments: String...) async throws -> ServerProcess {
        let server = try await ServerProcess()
        let own = [
            "s_server", "-accept", "127.0.0.1:\(server.port)", "-cert", "certificate.pem", "-key", "key.pem", "-www",
        ]
        try await server.start(openssl ?? "openssl", own + arguments)
        return server
    }

    /// Runs a program that speaks HTTP/2 and serves the files of a folder.
    static func nginx(_ files: [String: Data]) async throws -> ServerProcess {
        let server = try await ServerProcess()
        for (name, content) in files {
            try content.write(to: server.folder.appending(path: name))
        }
        let configuration = """
            daemon off; master_process off; pid nginx.pid; error_log error.log;
            events { worker_connections 2048; }
            http {
                access_log off; client_max_body_size 0; client_body_temp_path body; proxy_temp_path proxy;
                fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                server {
                    listen 127.0.0.1:\(server.port) ssl http2; http2_max_concurrent_streams 128;
                    ssl_certificate certificate.pem; ssl_certificate_key key.pem; root .;
                    location = /protocol { return 200 $server_protocol; }
                    location = /connection { return 200 $connection; }
                }
            }
            """
        try Data(configuration.utf8).write(to: server.folder.appending(path: "nginx.conf"))
        try await server.start(
            nginx ?? "nginx", ["-p", server.folder.path, "-c", "nginx.conf", "-e", "error.log"])
        return server
    }

    var pin: Data { get throws { try Data(contentsOf: folder.appending(path: "pin")) } }

    private func run(_ script: String) async throws {
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-ec", script]
        shell.currentDirectoryURL = folder
        try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
            shell.terminationHandler = { _ in ended.resume() }
            do {
                try shell.run()
            } catch {
                shell.terminationHandler = nil
                ended.resume(throwing: error)
            }
        }
    }

    private func start(_ program: String, _ arguments: [String]) async throws {
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        while !accepts { try await Task.sleep(for: .milliseconds(5)) }
    }

    private var accepts: Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = unsafe inet_addr("127.0.0.1")
        return unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { address in
                unsafe connect(descriptor, address.baseAddress, socklen_t(bytes.count)) == 0
            }
        }
    }
}
#endif
