#if canImport(FoundationNetworking)
import Foundation

/// A server with a certificate that nobody has signed but itself, in a process that ends with the value.
final class TLSServer: Sendable {
    /// Whether the machine has what the server is made of.
    static var isAvailable: Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")
    }

    // `timeout` ends the server even where this process was killed, and makes a group of the two.
    private static let script = """
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test \
        -addext "subjectAltName=$0" -keyout key.pem -out certificate.pem &&
        exec timeout 300 openssl s_server -accept 127.0.0.1:0 -cert certificate.pem -key key.pem
        """

    let port: Int
    let certificate: URL
    private let folder: URL
    private let group: Int32
    // The server hangs up at the end of its input.
    private let input = Pipe()

    /// Starts a server on a free port, with a certificate for a name such as `IP:127.0.0.1`.
    init(for name: String) async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
        certificate = folder.appendingPathComponent("certificate.pem")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let output = folder.appendingPathComponent("output")
        try Data().write(to: output)
        let handle = try FileHandle(forWritingTo: output)
        defer { try? handle.close() }

        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", Self.script, name]
        process.currentDirectoryURL = folder
        process.standardInput = input
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        group = process.processIdentifier
        let line = try await Self.line(with: "ACCEPT", in: output)
        port = line.split(separator: ":").last.flatMap { Int($0) } ?? 0
    }

    deinit {
        kill(-group, SIGKILL)
        try? FileManager.default.removeItem(at: folder)
    }

    /// Accepts connections from now on, and says nothing.
    func suspend() {
        kill(-group, SIGSTOP)
    }

    /// Waits until the server writes a line with some words, and returns all that it has written and received.
    func output(with words: String) async throws -> String {
        let output = folder.appendingPathComponent("output")
        _ = try await Self.line(with: words, in: output)
        return try String(contentsOf: output, encoding: .utf8)
    }

    private static func line(with words: String, in file: URL) async throws -> Substring {
        while true {
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            if let line = lines.first(where: { $0.contains(words) }) { return line }
            // Nothing tells of a change of the file; the limit of time of the test ends this.
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
#endif
