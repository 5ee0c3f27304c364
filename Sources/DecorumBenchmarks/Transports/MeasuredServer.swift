import DecorumTesting
import Foundation
import HTTPTypes

/// The server that transports are measured against: a given one, nginx where it is installed, or the one of the tests.
///
/// nginx answers three times as many requests a second. The server of the tests limits the rate of a client with 64 requests under
/// way; then only processor times tell one client from another.
struct MeasuredServer {
    let url: String
    private var process: ChildProcess?
    private var folder: URL?

    init(_ arguments: Arguments) throws {
        if let url = arguments.origin {
            self.url = url
        } else if let nginx = try Self(nginx: arguments.mebibytes) {
            self = nginx
        } else {
            let process = ChildProcess(
                ChildProcess.thisProgram, ["--serve", "--size", "\(arguments.mebibytes)"])
            url = try process.start()
            self.process = process
            guard url.hasPrefix("http://") else { throw BenchmarkFailure("The server did not start.") }
        }
    }

    /// Starts nginx; nil if it is not installed.
    private init?(nginx mebibytes: Int) throws {
        let folder = SparseFile.folder.appending(path: "benchmarks-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        _ = try SparseFile(mebibytes: mebibytes, at: folder.appending(path: "large"))
        for _ in 0..<5 {
            let port = Int.random(in: 20_000..<32_000)
            let file = folder.appending(path: "nginx.conf")
            try Data(Self.configuration(port: port, in: folder.path).utf8).write(to: file)
            // The shell ends nginx when its input ends, which is so also where this program is killed.
            let script = """
                PATH="$PATH:/usr/sbin:/usr/local/sbin"
                nginx -c "$0" 2>/dev/null && echo started && { read -r _; nginx -c "$0" -s stop 2>/dev/null; }
                """
            let process = ChildProcess("sh", ["-c", script, file.path])
            guard try process.start() == "started" else { continue }
            (url, self.process, self.folder) = ("http://127.0.0.1:\(port)", process, folder)
            return
        }
        try? FileManager.default.removeItem(at: folder)
        return nil
    }

    func stop() throws {
        try process?.finish()
        if let folder { try FileManager.default.removeItem(at: folder) }
    }

    private static func configuration(port: Int, in folder: String) -> String {
        """
        worker_processes 1; pid \(folder)/pid; error_log \(folder)/errors;
        \(getuid() == 0 ? "user root;" : "")
        events { worker_connections 16384; }
        http {
            access_log off; keepalive_requests 1000000000; sendfile on; client_max_body_size 0;
            client_body_temp_path \(folder)/contents; client_body_buffer_size 1m; default_type text/plain;
            server {
                listen 127.0.0.1:\(port) backlog=16384; root \(folder);
                location /small { return 200 "\(String(repeating: "x", count: 100))"; }
                location /sink {
                    proxy_pass http://127.0.0.1:\(port)/small; proxy_method GET;
                    proxy_pass_request_body off; proxy_set_header Content-Length "";
                }
            }
        }

        """
    }

    /// Serves in this process, which is a separate one so that it is not measured with the client, until its input ends.
    static func serve(mebibytes: Int) throws {
        let origin = try LoopbackOrigin(keepingBodiesUpTo: 0)
        defer { origin.stop() }
        origin.route(
            .get, "/small",
            .init(fields: ["Content-Type": "text/plain"], body: String(repeating: "x", count: 100)))
        origin.route(.get, "/large", .generated(count: Int64(mebibytes) << 20))
        origin.route(.put, "/sink", "ok")
        let forgetting = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .milliseconds(100))
                origin.forgetRequests()
            }
        }
        defer { forgetting.cancel() }
        try FileHandle.standardOutput.write(contentsOf: Data((origin.url + "\n").utf8))
        _ = try FileHandle.standardInput.readToEnd()
    }
}

/// A file of zeros, for content that is sent.
///
/// It is in memory where the system has a file system for that. On a disk, the first read of a file fills the system's cache,
/// and a virtual machine may have to get this memory from its host first: one GiB took 4.4 s in place of 0.2 s, at chance.
struct SparseFile {
    let url: URL

    /// Creates a file that takes no space.
    init(mebibytes: Int, at url: URL = Self.folder.appending(path: "benchmarks-\(UUID())")) throws {
        self.url = url
        guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
            throw BenchmarkFailure("The file cannot be created.")
        }
        let handle = try FileHandle(forWritingTo: url)
        try handle.truncate(atOffset: UInt64(mebibytes) << 20)
        try handle.close()
    }

    func remove() throws {
        try FileManager.default.removeItem(at: url)
    }

    /// The folder for files: in memory, or else that for temporary ones.
    static var folder: URL {
        let memory = URL(filePath: "/dev/shm")
        return FileManager.default.isWritableFile(atPath: memory.path)
            ? memory : FileManager.default.temporaryDirectory
    }
}
