import Foundation

/// nginx, which answers several times as many requests a second as the server of the tests, and so does not limit clients.
struct NginxProcess {
    private let process: ChildProcess
    private let folder: URL
    let url: String

    /// Starts nginx; nil where it is not installed.
    init?(mebibytes: Int) throws {
        folder = SparseFile.folder.appending(path: "benchmarks-\(UUID())")
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
            self.process = process
            url = "http://127.0.0.1:\(port)"
            return
        }
        try? FileManager.default.removeItem(at: folder)
        return nil
    }

    func stop() throws {
        try process.finish()
        try FileManager.default.removeItem(at: folder)
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
}
