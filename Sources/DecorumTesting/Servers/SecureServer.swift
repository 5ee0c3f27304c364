package import Foundation

/// A program of the machine that serves over TLS until the value is let go of.
package final class SecureServer: Sendable {
    private static let opensslPath = RunningScript.program("openssl", variable: "DECORUM_OPENSSL")
    private static let nginxPath = RunningScript.program("nginx", variable: "DECORUM_NGINX")

    /// Why there can be no server of openssl; nil where there can.
    package static var missingForTLS: String? {
        opensslPath == nil ? "There is no openssl, which would make certificates, on this machine." : nil
    }

    /// Why there can be no server of HTTP/2; nil where there can.
    package static var missingForHTTP2: String? {
        missingForTLS ?? (nginxPath == nil ? "There is no nginx, which would speak HTTP/2, on this machine." : nil)
    }

    private let script: RunningScript
    /// The port of 127.0.0.1.
    package let port: Int

    private init(_ script: RunningScript, port: Int) {
        self.script = script
        self.port = port
    }

    /// The start of every URL.
    package var url: String { "https://127.0.0.1:\(port)" }
    /// The certificate that the server's leads to.
    package var root: URL { script.folder.appendingPathComponent("root.pem") }
    /// A folder that holds ``root`` under the name that OpenSSL looks for; of a server of openssl.
    package var folderOfRoots: URL { script.folder.appendingPathComponent("roots") }
    /// A certificate that a server's of openssl does not lead to.
    package var stranger: URL { script.folder.appendingPathComponent("stranger.pem") }
    /// The SHA-256 digest of the public key of a server of openssl.
    package var pin: Data { get throws { try Data(contentsOf: script.folder.appendingPathComponent("pin")) } }
    /// What a client can show of itself to a server of openssl.
    package var identity: TransportConditions.Identity {
        TransportConditions.Identity(
            certificate: script.folder.appendingPathComponent("client.pem"),
            key: script.folder.appendingPathComponent("client-key.pem"))
    }

    /// Starts a server that writes down what it receives; with `-www` among the options it answers with a page.
    ///
    /// - Parameters:
    ///   - options: Those of `openssl s_server`; `root.pem` names the certificate that signed the client's.
    ///   - certificate: What the server shows.
    /// - Returns: A server that accepts.
    /// - Throws: A skip where there is no openssl.
    package static func openssl(
        _ options: String..., certificate: TestCertificate = TestCertificate()
    ) async throws -> SecureServer {
        if let missing = missingForTLS { throw ConformanceSkip(reason: missing) }
        let script = try RunningScript(
            certificate.script + certificate.furtherScript
                + "exec $openssl s_server -accept 127.0.0.1:0 -cert server.pem -key server-key.pem "
                + options.joined(separator: " "),
            files: ["openssl.conf": certificate.configuration])
        let output = try await script.waitForOutput(of: "ACCEPT 127.0.0.1:")
        let line = output.split(separator: "\n").first { $0.hasPrefix("ACCEPT 127.0.0.1:") }
        return SecureServer(script, port: line.flatMap { Int($0.drop { $0 != ":" }.dropFirst()) } ?? 0)
    }

    /// Starts a server of HTTP/2 and HTTP/1.1 that asks an origin for its answers and adds `$server_protocol` as
    /// `/protocol`, and the number of the connection as `/connection`.
    ///
    /// - Parameters:
    ///   - origin: Where the answers come from.
    ///   - requestCount: The number of requests after which a connection is retired.
    /// - Returns: A server that accepts.
    /// - Throws: A skip where there is no nginx.
    package static func nginx(
        before origin: LoopbackOrigin, keepingConnectionFor requestCount: Int = 1_000_000
    ) async throws -> SecureServer {
        if let missing = missingForHTTP2 { throw ConformanceSkip(reason: missing) }
        let certificate = TestCertificate()
        while true {
            // Free a moment ago: nobody tells nginx to take any port, so that another program may be faster.
            let port = try freePort()
            let script = try RunningScript(
                certificate.script + "exec \(nginxPath ?? "nginx") -p . -c nginx.conf -e error.log",
                files: [
                    "openssl.conf": certificate.configuration,
                    "nginx.conf": configuration(port: port, origin: origin, requestCount: requestCount),
                ])
            do {
                try await script.waitForFile("nginx.pid")
                return SecureServer(script, port: port)
            } catch let failure as ConformanceFailure where failure.description.contains("Address already in use") {
                continue
            }
        }
    }

    private static func freePort() throws -> Int {
        try Socket.bound().port
    }

    // Nothing is buffered, so that each side of nginx is in step with the other.
    private static func configuration(port: Int, origin: LoopbackOrigin, requestCount: Int) -> String {
        """
        daemon off; master_process off; pid nginx.pid; error_log error.log;
        events { worker_connections 2048; }
        http {
            access_log off; client_max_body_size 0; client_body_temp_path body; proxy_temp_path proxy;
            fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            server {
                listen 127.0.0.1:\(port) ssl http2; http2_max_concurrent_streams 128;
                ssl_certificate server.pem; ssl_certificate_key server-key.pem;
                keepalive_requests \(requestCount); ignore_invalid_headers off; underscores_in_headers on;
                location = /protocol { return 200 $server_protocol; }
                location = /connection { return 200 $connection; }
                location / {
                    proxy_pass \(origin.url); proxy_http_version 1.1; proxy_set_header Host $http_host;
                    proxy_buffering off; proxy_request_buffering off;
                }
            }
        }

        """
    }

    /// Waits until the server has ended, such as one that takes a single connection, and returns all that it received.
    package func outputOfAll() async throws -> String {
        try await script.waitForEnd()
    }
}
