#if CommandLine
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

/// The same requests by curl and by the command are the same bytes on the wire to three servers.
///
/// curl is told each field that it would name otherwise: its own `Content-Type` comes after the length. The one difference that
/// is left is that curl writes `Authorization` before the other fields, and the command after them.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled("curl or python3 is not installed") {
        ["curl", "python3"].allSatisfy {
            RunningScript.program($0, variable: "DECORUM_\($0.uppercased())_PROGRAM") != nil
        }
    })
struct CurlComparisonTests {
    static let form = "Content-Type: application/x-www-form-urlencoded"
    static let text = "Content-Type: text/plain"
    static let rows: [(own: [String], curl: [String])] = [
        (["/a"], ["/a"]),
        (["-X", "DELETE", "/a"], ["-X", "DELETE", "/a"]),
        (["HEAD", "/a"], ["--head", "-o", "/dev/null", "/a"]),
        (["/a?x=1", "y==a b&c"], ["-G", "-d", "y=a%20b%26c", "/a?x=1"]),
        (["-H", "Accept: text/html", "-H", "X-Empty;", "/a"], ["-H", "Accept: text/html", "-H", "X-Empty;", "/a"]),
        (["--form", "/a", "b=c d", "e=f"], ["-H", form, "--data-urlencode", "b=c d", "-d", "e=f", "/a"]),
        (["--body", #"{"a":1}"#, "/a"], ["-H", "Content-Type: application/json", "--json", #"{"a":1}"#, "/a"]),
        (["PUT", "--body", "@file.txt", "/a"], ["-H", text, "-T", "file.txt", "-H", "Expect:", "/a"]),
        (["-u", "ann:@file.txt", "/a"], ["-u", "ann:text", "/a"]),
        (["--bearer", "@file.txt", "/a"], ["--oauth2-bearer", "text", "/a"]),
    ]

    @Test func `Ten requests to an origin are the same by curl`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(nil, "/*", "answer")
        try await compare(through: "\(origin.port)")
        #expect(origin.requests.count == 2 * Self.rows.count)
    }

    @Test(.enabled(if: SecureServer.nginxPath != nil, "nginx is not installed"))
    func `Ten requests to nginx are the same by curl`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(nil, "/*", "answer")
        let (server, port) = try await SecureServer.nginx { port in
            let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \($0);" }
            // An answer that comes before all content is read would end the sending of it.
            let server = "server { listen 127.0.0.1:\(port); location / { proxy_pass \(origin.url); } }"
            let settings = "daemon off; master_process off; pid nginx.pid; error_log error.log; events {}"
            return ["nginx.conf": "\(settings) http { access_log off; \(temporary.joined(separator: " ")) \(server) }"]
        }
        try await compare(through: "\(port)")
        withExtendedLifetime(server) {}
    }

    @Test(
        .enabled("httpbin is not installed") {
            (try? await RunningScript.output(of: "python3 -c 'import httpbin'")) != nil
        })
    func `Ten requests to httpbin are the same by curl`() async throws {
        try await compare(through: "httpbin", under: "/anything")
    }

    /// Sends each row twice through a relay that writes down what it forwards, and compares that and the answers.
    private func compare(through server: String, under path: String = "") async throws {
        let relay = try RunningScript("exec python3 relay.py \(server)", files: ["relay.py": Data(Self.relay.utf8)])
        let output = try await relay.waitForOutput(of: " forwards")
        let base = try #require(output.firstMatch(of: /http:[^ ]+/)).0 + path
        var script = "export HOME=$PWD\n"
        for (number, row) in Self.rows.enumerated() {
            let own = [CommandRun.program.path, "--set", "decompression=false"] + row.own
            let curl = ["curl", "-sS"] + (row.curl.contains("Accept: text/html") ? [] : ["-H", "Accept:"]) + row.curl
            for (name, words) in [("own", own), ("curl", curl)] {
                let words = words.map { $0.hasPrefix("/a") ? base + $0 : $0 } + ["-H", "User-Agent: same"]
                script += words.map(RunningScript.quoted).joined(separator: " ") + " >\(name)-\(number)\n"
            }
        }
        let run = try RunningScript(script, files: ["file.txt": Data("text".utf8)])
        #expect(try await run.waitForEnd() == "")
        func text(_ name: String, of script: RunningScript) throws -> String {
            String(decoding: try Data(contentsOf: script.folder.appending(path: name)), as: UTF8.self)
        }
        for (number, row) in Self.rows.enumerated() {
            let sent = try (1...2).map {
                try text("sent-\(2 * number + $0)", of: relay)
                    .replacing(/(Authorization: .*\r\n)((?s:.*))/) { $0.2 + $0.1 }
            }
            #expect(sent[0] == sent[1], "\(row.own)")
            #expect(try text("own-\(number)", of: run) == text("curl-\(number)", of: run), "\(row.own)")
        }
    }

    private static let relay = """
        import socket, sys, threading
        port = sys.argv[1]
        if port == "httpbin":
            from httpbin import app
            from wsgiref.simple_server import make_server
            application = make_server("127.0.0.1", 0, app)
            threading.Thread(target=application.serve_forever, daemon=True).start()
            port = application.server_port
        def forward(source, target, file):
            while data := source.recv(65536):
                if file: file.write(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        listener, count = socket.create_server(("127.0.0.1", 0)), 0
        print(f"http://127.0.0.1:{listener.getsockname()[1]} forwards", flush=True)
        while True:
            client, server = listener.accept()[0], socket.create_connection(("127.0.0.1", int(port)))
            count += 1
            for words in [(client, server, open(f"sent-{count}", "wb", 0)), (server, client, None)]:
                threading.Thread(target=forward, args=words, daemon=True).start()
        """
}
#endif
