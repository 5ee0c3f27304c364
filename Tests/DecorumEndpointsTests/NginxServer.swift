import Foundation

/// nginx, an independent server that writes the content of each request to a file.
struct NginxServer {
    private static let program = [
        "/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/local/bin/nginx", "/opt/homebrew/bin/nginx",
    ]
    .first { FileManager.default.isExecutableFile(atPath: $0) }
    static var isInstalled: Bool { program != nil }

    private let process: Process
    private let input: Pipe
    private let folder: URL
    let url: String

    struct StartError: Error {}

    /// Starts nginx, which ends with the input of its shell, also where this process is killed.
    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "nginx-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "nginx.conf")
        let script = """
            "$0" -c "$1" 2>/dev/null && echo started && { read -r _; "$0" -c "$1" -s stop 2>/dev/null; }
            """
        // Another process may have the port.
        for _ in 0..<5 {
            let port = Int.random(in: 20_000..<32_000)
            try Data(Self.configuration(port: port, in: folder.path).utf8).write(to: file)
            let (process, input, output) = (Process(), Pipe(), Pipe())
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["-c", script, Self.program ?? "nginx", file.path]
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            guard try output.fileHandleForReading.read(upToCount: 7) == Data("started".utf8) else { continue }
            (self.process, self.input, url) = (process, input, "http://127.0.0.1:\(port)")
            return
        }
        try FileManager.default.removeItem(at: folder)
        throw StartError()
    }

    func stop() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        try FileManager.default.removeItem(at: folder)
    }

    /// A request for `store` is answered with three lines: the file of its content, its media type and its length.
    private static func configuration(port: Int, in folder: String) -> String {
        """
        worker_processes 1; pid \(folder)/pid; error_log \(folder)/errors;
        \(getuid() == 0 ? "user root;" : "")
        events { worker_connections 64; }
        http {
            access_log off; client_max_body_size 0; default_type text/plain;
            server {
                listen 127.0.0.1:\(port);
                location = /store {
                    client_body_in_file_only on; client_body_temp_path \(folder)/contents;
                    proxy_pass http://127.0.0.1:\(port)/answer; proxy_method GET; proxy_pass_request_body off;
                    proxy_set_header Content-Length ""; proxy_set_header X-File $request_body_file;
                    proxy_set_header X-Type $content_type; proxy_set_header X-Length $http_content_length;
                }
                location = /answer { return 200 "$http_x_file\\n$http_x_type\\n$http_x_length"; }
            }
        }

        """
    }
}
