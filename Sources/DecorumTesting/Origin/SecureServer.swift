package import Foundation

/// A program of the machine that serves over TLS until the value is released.
package final class SecureServer: Sendable {
    private static let opensslPath = RunningScript.program("openssl", variable: "DECORUM_OPENSSL")
    package static let nginxPath = RunningScript.program("nginx", variable: "DECORUM_NGINX")

    /// The reason why no openssl server can run here; nil if one can.
    package static var missingForTLS: String? {
        opensslPath == nil ? "This machine has no openssl, which makes the certificates." : nil
    }

    /// The reason why no HTTP/2 server can run here; nil if one can.
    package static var missingForHTTP2: String? {
        missingForTLS ?? (nginxPath == nil ? "This machine has no nginx, which speaks HTTP/2." : nil)
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
    /// The root certificate that signed the server's certificate.
    package var root: URL { script.folder.appendingPathComponent("root.pem") }
    /// The certificate of the server.
    package var certificate: URL { script.folder.appendingPathComponent("server.pem") }
    /// A folder that holds ``root`` under the name that OpenSSL looks for; only an openssl server has it.
    package var folderOfRoots: URL { script.folder.appendingPathComponent("roots") }
    /// A root certificate that did not sign the certificate of an openssl server.
    package var stranger: URL { script.folder.appendingPathComponent("stranger.pem") }
    /// The SHA-256 digest of the public key of an openssl server.
    package var pin: Data { get throws { try Data(contentsOf: script.folder.appendingPathComponent("pin")) } }
    /// A certificate that a client can show to an openssl server.
    package var clientCertificate: URL { script.folder.appendingPathComponent("client.pem") }
    /// The key of ``clientCertificate``.
    package var clientKey: URL { script.folder.appendingPathComponent("client-key.pem") }
    /// ``clientCertificate`` and its key in the form PKCS#12, with the password `p12-s3cret`.
    package var clientPKCS12: URL { script.folder.appendingPathComponent("client.p12") }

    /// Starts an openssl server, which writes down what it receives; with the option `-www` it answers with a page.
    ///
    /// - Parameters:
    ///   - options: Options of `openssl s_server`; `root.pem` names the certificate that signed the client's.
    ///   - certificate: The certificate that the server shows.
    /// - Returns: A server that already accepts connections.
    /// - Throws: `MissingProgramError` without openssl.
    package static func openssl(
        _ options: String..., certificate: TestCertificate = TestCertificate()
    ) async throws -> SecureServer {
        if let missing = missingForTLS { throw MissingProgramError(reason: missing) }
        let script = try RunningScript(
            certificate.script + certificate.furtherScript
                + "exec $openssl s_server -accept 127.0.0.1:0 -cert server.pem -key server-key.pem "
                + options.joined(separator: " "),
            files: ["openssl.conf": Data(certificate.configuration.utf8)])
        let output = try await script.waitForOutput(of: "ACCEPT 127.0.0.1:")
        let line = output.split(separator: "\n").first { $0.hasPrefix("ACCEPT 127.0.0.1:") }
        return SecureServer(script, port: line.flatMap { Int($0.drop { $0 != ":" }.dropFirst()) } ?? 0)
    }

    /// Starts nginx as a server of HTTP/2 and HTTP/1.1 that forwards requests to an origin.
    ///
    /// It answers `/protocol` with the version of the request, and `/connection` with the number of its connection.
    ///
    /// - Parameters:
    ///   - origin: The origin that answers.
    ///   - requestCount: The number of requests after which nginx closes a connection.
    /// - Returns: A server that already accepts connections.
    /// - Throws: `MissingProgramError` without nginx or openssl.
    package static func nginx(
        before origin: LoopbackOrigin, keepingConnectionFor requestCount: Int = 1_000_000
    ) async throws -> SecureServer {
        if let missing = missingForHTTP2 { throw MissingProgramError(reason: missing) }
        let certificate = TestCertificate()
        let (script, port) = try await nginx(after: certificate.script) { port in
            [
                "openssl.conf": certificate.configuration,
                "nginx.conf": configuration(port: port, origin: origin, requestCount: requestCount),
            ]
        }
        return SecureServer(script, port: port)
    }

    /// Starts nginx on a free port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - preparation: Commands that run before.
    ///   - files: Makes the files for a port, of which `nginx.conf` has `pid nginx.pid` and starts no other process.
    /// - Returns: The script, which ends nginx when it is released, and the port.
    /// - Throws: `ScriptEndedError` where nginx refuses its configuration.
    package static func nginx(
        after preparation: String = "", files: (_ port: Int) -> [String: String]
    ) async throws -> (script: RunningScript, port: Int) {
        while true {
            // nginx cannot choose a free port itself, and another program may take this one first.
            let port = try Socket.bound().port
            let script = try RunningScript(
                preparation + "exec \(nginxPath ?? "nginx") -p . -c nginx.conf -e error.log",
                files: files(port).mapValues { Data($0.utf8) })
            do {
                try await script.waitForFile("nginx.pid")
                return (script, port)
            } catch let error as ScriptEndedError where error.output.contains("Address already in use") {
                continue
            }
        }
    }

    // Without buffering, both sides of nginx see each byte as soon as it is sent.
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

    /// Waits until the server has ended, as one does that takes a single connection, and returns everything it received.
    package func outputOfAll() async throws -> String { try await script.waitForEnd() }
}

/// The certificate of a server, which the machine's `openssl` creates and which is valid for two days.
package struct TestCertificate: Sendable {
    /// The names that the certificate is for, in openssl's notation.
    package var names = "IP:127.0.0.1,DNS:localhost"
    /// Whether it expired in 2020.
    package var isExpired = false

    package init() {}

    /// Creates `root.pem`, and `server.pem` with its key, which the root signs.
    var script: String {
        """
        openssl=${DECORUM_OPENSSL:-openssl}
        make_root() {
            $openssl req -config openssl.conf -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
                -subj "/CN=$1" -extensions root -keyout $1-key.pem -out $1.pem
        }
        sign() {
            $openssl req -config openssl.conf -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
                -subj "/CN=decorum $1" -keyout $1-key.pem -out $1-request.pem
            $openssl ca -config openssl.conf -batch -notext -extensions $1 -in $1-request.pem -out $1.pem $2
        }
        : >database
        echo 01 >serial
        make_root root 2>>openssl.log
        sign server "\(isExpired ? "-startdate 200101000000Z -enddate 200201000000Z" : "-days 2")" 2>>openssl.log

        """
    }

    /// Also creates `client.pem` with its key, which the root signs, and `client.p12` with both; `stranger.pem`, a root that signs nothing; `roots`, a
    /// folder with the root; and `pin`, the digest of the server's public key.
    var furtherScript: String {
        """
        make_root stranger 2>>openssl.log
        sign client "-days 2" 2>>openssl.log
        $openssl pkcs12 -export -in client.pem -inkey client-key.pem -passout pass:p12-s3cret -out client.p12
        mkdir roots
        cp root.pem roots/$($openssl x509 -in root.pem -noout -hash).0
        $openssl x509 -in server.pem -noout -pubkey | $openssl pkey -pubin -outform der \
            | $openssl dgst -sha256 -binary >pin

        """
    }

    /// The configuration of openssl, used in place of the machine's.
    var configuration: String {
        """
        [ca]
        default_ca = own
        [own]
        database = database
        serial = serial
        new_certs_dir = .
        certificate = root.pem
        private_key = root-key.pem
        default_md = sha256
        unique_subject = no
        policy = any
        [any]
        commonName = supplied
        [req]
        distinguished_name = name
        prompt = no
        [name]
        commonName = decorum
        [root]
        basicConstraints = critical,CA:TRUE
        keyUsage = critical,keyCertSign
        subjectKeyIdentifier = hash
        [server]
        basicConstraints = CA:FALSE
        subjectAltName = \(names)
        extendedKeyUsage = serverAuth
        authorityKeyIdentifier = keyid
        [client]
        basicConstraints = CA:FALSE
        extendedKeyUsage = clientAuth
        authorityKeyIdentifier = keyid

        """
    }
}
