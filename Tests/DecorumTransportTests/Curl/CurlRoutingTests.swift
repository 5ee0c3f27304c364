#if os(Linux)
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

extension IsolatedTests {
    /// The destination of a request: routes, proxies and Unix sockets.
    @Suite(.timeLimit(.minutes(3))) struct CurlRoutingTests {
        let origin: LoopbackOrigin

        init() throws {
            origin = try LoopbackOrigin()
            origin.route(nil, "*", "ok")
        }

        @Test func `A route replaces the addresses of a host`() async throws {
            let route = try CurlConnection.Route(
                host: "api.decorum.invalid", port: origin.port, addresses: ["127.0.0.1"])
            let connection = try CurlConnection(routes: [route])
            let response = try await connection.send(.get("http://api.decorum.invalid:\(origin.port)/a"))

            #expect(response.status == .ok)
            #expect(origin.requests.map { $0.fields["Host"] } == ["api.decorum.invalid:\(origin.port)"])
        }

        @Test func `A proxy receives the whole URL and its own password`() async throws {
            let proxy = try CurlConnection.Proxy(
                origin.url, user: "me", password: "secret", exceptions: ["direct.decorum.invalid"])
            let connection = try CurlConnection(proxy: proxy)
            let response = try await connection.send(.get("http://api.decorum.invalid/a?b"))

            #expect(response.status == .ok)
            #expect(origin.requests.map(\.target) == ["http://api.decorum.invalid/a?b"])
            #expect(origin.requests.first?.fields["Proxy-Authorization"] == "Basic bWU6c2VjcmV0")
            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.get("http://direct.decorum.invalid/"))
            }
            #expect(error?.code == .hostNotFound)
        }

        @Test(arguments: [
            ("http://me:secret@proxy.example", InvalidRequestError.Reason.userinfo), ("", .invalidHost),
            ("http://", .invalidHost), ("http:///", .invalidHost), ("http://:3128", .invalidHost),
            ("http://pro xy", .invalidHost), ("http://proxy.example/path", .invalidHost), ("[]:80", .invalidHost),
            ("nonsense://proxy.example", .unsupportedScheme), ("://proxy.example", .unsupportedScheme),
            ("ftp://proxy.example", .unsupportedScheme), ("proxy.example:port", .invalidPort),
            ("proxy.example:", .invalidPort), ("proxy.example:65536", .invalidPort), ("[::1]80", .invalidPort),
        ])
        func `A proxy that libcurl would not use is refused`(url: String, reason: InvalidRequestError.Reason) {
            let error = #expect(throws: InvalidRequestError.self) { try CurlConnection.Proxy(url) }
            #expect(error?.reason == reason)
            #expect(error?.description.contains("secret") == false)
        }

        @Test(arguments: [
            "http://proxy.example", "https://proxy.example:3129/", "HTTP://proxy.example:3128",
            "socks4://proxy.example",
            "socks4a://proxy.example", "socks5://127.0.0.1:1080", "socks5h://proxy.example", "proxy.example:3128",
            "http://[::1]:3128", "[::1]",
        ])
        func `A proxy that libcurl can use is accepted`(url: String) throws {
            let proxy = try CurlConnection.Proxy(url)
            _ = try CurlConnection(proxy: proxy)
            #expect(proxy.url == url)
        }

        @Test(arguments: [
            ("api.example", 0, ["127.0.0.1"], InvalidRequestError.Reason.invalidPort),
            ("api.example", 65_536, ["127.0.0.1"], .invalidPort), ("api.example", 80, [], .invalidHost),
            ("api.example", 80, ["not an address"], .invalidHost),
            ("api.example", 80, ["127.0.0.1", ""], .invalidHost),
            ("api.example", 80, ["127.0.0.1,10.0.0.1"], .invalidHost), ("", 80, ["127.0.0.1"], .invalidHost),
            ("-api.example", 80, ["127.0.0.1"], .invalidHost), ("*", 80, ["127.0.0.1"], .invalidHost),
            ("api.example:80", 80, ["127.0.0.1"], .invalidHost),
        ])
        func `An invalid route is refused`(
            host: String, port: Int, addresses: [String], reason: InvalidRequestError.Reason
        ) {
            let error = #expect(throws: InvalidRequestError.self) {
                try CurlConnection.Route(host: host, port: port, addresses: addresses)
            }
            #expect(error?.reason == reason)
        }

        @Test(.enabled(if: SecureServer.missingForHTTP2 == nil, "nginx or openssl is not installed"))
        func `Only the proxy receives its password when it connects to a TLS server`() async throws {
            let server = try await SecureServer.nginx(before: origin)
            let forwarder = try ForwardingServer(at: .proxy, to: server.port)
            var tls = TLSOptions()
            tls.roots = .file(server.root)
            let proxy = try CurlConnection.Proxy("http://127.0.0.1:\(forwarder.port)", user: "me", password: "secret")
            let connection = try CurlConnection(tls: tls, proxy: proxy)
            for _ in 0..<2 {
                let response = try await connection.send(.get(server.url + "/a"))
                #expect(try await response.body.text(upTo: 10) == "ok")
            }

            #expect(forwarder.heads.count == 1)
            let head = try #require(forwarder.heads.first)
            #expect(head.hasPrefix("CONNECT 127.0.0.1:\(server.port) HTTP/1.1\r\n"))
            #expect(head.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"))
            #expect(origin.requests.map(\.target) == ["/a", "/a"])
            #expect(origin.requests.allSatisfy { $0.fields["Proxy-Authorization"] == nil })
        }

        @Test(.enabled(if: SecureServer.missingForTLS == nil, "openssl is not installed"))
        func `Behind a proxy too, the certificate of a server must lead to the roots`() async throws {
            let server = try await SecureServer.openssl("-www")
            let forwarder = try ForwardingServer(at: .proxy, to: server.port)
            let proxy = try CurlConnection.Proxy("http://127.0.0.1:\(forwarder.port)")
            let error = await #expect(throws: TransportError.self) {
                try await CurlConnection(proxy: proxy).send(.get(server.url + "/"))
            }

            #expect(error?.code == .tls)
            #expect(forwarder.heads.first?.contains("Proxy-Authorization") == false)
        }

        @Test(.enabled(if: SecureServer.missingForTLS == nil, "openssl is not installed"))
        func `The certificate of a proxy must lead to the roots`() async throws {
            let server = try await SecureServer.openssl("-www")
            var tls = TLSOptions()
            let proxy = try CurlConnection.Proxy("https://127.0.0.1:\(server.port)")
            let refused = await #expect(throws: TransportError.self) {
                try await CurlConnection(tls: tls, proxy: proxy).send(.get("http://api.decorum.invalid/"))
            }
            #expect(refused?.code == .tls)

            // The server responds to any GET with a page.
            tls.roots = .file(server.root)
            let response = try await CurlConnection(tls: tls, proxy: proxy).send(.get("http://api.decorum.invalid/"))
            #expect(response.status == .ok)
        }

        /// Not in the directory for temporary files, whose path may be longer than that of a socket can be.
        private static func newSocketPath() -> String { "/tmp/decorum-\(UInt64.random(in: 0 ... .max))" }

        @Test func `A Unix socket replaces every host`() async throws {
            let path = Self.newSocketPath()
            defer { unsafe unlink(path) }
            let forwarder = try ForwardingServer(at: .file(path), to: origin.port)
            let connection = try CurlConnection(unixSocket: path)
            let response = try await connection.send(.post("http://docker.invalid/version?a", body: "hello"))

            #expect(try await response.body.text(upTo: 10) == "ok")
            #expect(origin.requests.map(\.target) == ["/version?a"])
            #expect(origin.requests.map { $0.fields["Host"] } == ["docker.invalid"])
            #expect(response.metadata.timings?.remoteAddress == nil)
            withExtendedLifetime(forwarder) {}
        }

        @Test func `A missing Unix socket refuses the connection`() async throws {
            let connection = try CurlConnection(unixSocket: "/nowhere/decorum.socket")

            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.get("http://localhost/"))
            }
            #expect(error?.code == .connectionRefused)
            #expect(error?.stage == .connecting)
        }
    }
}

@Suite struct CurlEnvironmentVariablesTests {
    @Test(
        arguments: [
            ([:], nil, nil),
            (["http_proxy": "http://p:1"], "http://p:1", nil),
            (["HTTP_PROXY": "http://p:1"], nil, nil),
            (["https_proxy": "http://p:1", "HTTPS_PROXY": "http://q:2"], nil, "http://p:1"),
            (["HTTPS_PROXY": "http://q:2"], nil, "http://q:2"),
            (["https_proxy": "", "HTTPS_PROXY": "http://q:2"], nil, "http://q:2"),
            (["all_proxy": "socks5h://p:1"], "socks5h://p:1", "socks5h://p:1"),
            (["ALL_PROXY": "p:1", "http_proxy": "q:2"], "q:2", "p:1"),
            (["all_proxy": "p:1", "ALL_PROXY": "q:2"], "p:1", "p:1"),
            (["https_proxy": "http://user:pa%3Ass@p:1/"], nil, "http://p:1/"),
            (["https_proxy": "user@p:1"], nil, "p:1"),
        ] as [([String: String], String?, String?)])
    func `The variables name the proxies`(variables: [String: String], http: String?, https: String?) throws {
        let environment = try CurlConnection.Environment(variables)
        #expect(environment.httpProxy?.url == http)
        #expect(environment.httpsProxy?.url == https)
        #expect(try environment.proxy(for: Origin("http://a.example"))?.url == http)
        #expect(try environment.proxy(for: Origin("https://a.example"))?.url == https)
    }

    @Test(arguments: [["no_proxy": "a.example", "NO_PROXY": "b.example"], ["NO_PROXY": "a.example"]])
    func `An excluded host has no proxy`(exceptions: [String: String]) throws {
        let environment = try CurlConnection.Environment(
            exceptions.merging(["all_proxy": "http://p:1"]) { first, _ in first })
        #expect(try environment.proxy(for: Origin("https://www.a.example")) == nil)
        #expect(try environment.proxy(for: Origin("https://b.example"))?.url == "http://p:1")
    }

    @Test(arguments: [
        ("ftp://me:s3cret@p", InvalidRequestError.Reason.unsupportedScheme), ("http://me:s3cret@", .invalidHost),
        ("http://me:s3cret@p:port", .invalidPort), ("http://me:s3cret@p/path", .invalidHost),
    ])
    func `An invalid proxy names its variable and no password`(url: String, reason: InvalidRequestError.Reason) {
        let error = #expect(throws: InvalidRequestError.self) { try CurlConnection.Environment(["HTTPS_PROXY": url]) }
        #expect(error?.reason == reason)
        #expect(error?.description.hasPrefix("The environment variable HTTPS_PROXY is invalid.") == true)
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func `Neither the environment nor its connection shows a password`() throws {
        let environment = try CurlConnection.Environment(["all_proxy": "http://me:s3cret@p.example:1"])
        let connection = try CurlConnection(environment: environment)
        var shown = "\(environment) \(connection.layers)"
        dump(environment, to: &shown)
        dump(connection.layers, to: &shown)
        #expect(shown.contains("http://p.example:1"))
        #expect(!shown.contains("s3cret"))
    }

    @Test(arguments: [
        ([:], false), (["SSL_CERT_FILE": "/a.pem"], true), (["SSL_CERT_DIR": "/certs"], true),
        (["SSL_CERT_FILE": "", "SSL_CERT_DIR": ""], false),
    ])
    func `The variables name the roots`(variables: [String: String], hasRoots: Bool) throws {
        #expect(try (CurlConnection.Environment(variables).roots != nil) == hasRoots)
    }
}

extension IsolatedTests {
    /// Requests through the proxies of an environment, over real sockets.
    @Suite(.timeLimit(.minutes(3))) struct CurlEnvironmentProxyTests {
        let proxy: LoopbackOrigin
        let origin: LoopbackOrigin

        init() throws {
            proxy = try LoopbackOrigin()
            proxy.route(nil, "*", "through the proxy")
            origin = try LoopbackOrigin()
            origin.route(nil, "*", "direct")
        }

        private func connection(_ variables: [String: String]) throws -> CurlConnection {
            try CurlConnection(environment: CurlConnection.Environment(variables))
        }

        private func text(_ connection: CurlConnection, _ url: String) async throws -> String {
            try await connection.send(.get(url)).body.text(upTo: 100)
        }

        @Test func `A proxy gets the whole URL, and the user and password of its own URL`() async throws {
            let connection = try connection(["http_proxy": "http://m%65:sec%72et@127.0.0.1:\(proxy.port)/"])
            #expect(try await text(connection, "http://api.decorum.invalid/a?b") == "through the proxy")
            #expect(proxy.requests.map(\.target) == ["http://api.decorum.invalid/a?b"])
            #expect(proxy.requests.first?.fields["Proxy-Authorization"] == "Basic bWU6c2VjcmV0")
        }

        @Test func `Direct and proxied requests at the same time do not mix`() async throws {
            let connection = try connection([
                "http_proxy": "http://me:secret@127.0.0.1:\(proxy.port)", "no_proxy": "127.0.0.1:\(origin.port)",
            ])
            let direct = origin.url
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<50 {
                    group.addTask { try await text(connection, direct + "/") == "direct" }
                    group.addTask { try await text(connection, "http://x.invalid/") == "through the proxy" }
                }
                for try await isRight in group { #expect(isRight) }
            }
            #expect(origin.requests.allSatisfy { $0.fields["Proxy-Authorization"] == nil })
        }

        @Test func `A proxy that refuses fails the request without its password`() async throws {
            proxy.enqueue(.init(.proxyAuthenticationRequired))
            let connection = try connection(["HTTPS_PROXY": "http://me:s3cret@127.0.0.1:\(proxy.port)"])
            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.get("https://api.decorum.invalid/"))
            }
            #expect(error?.code == .proxyRefused)
            var shown = "\(String(describing: error))"
            dump(error, to: &shown)
            #expect(!shown.contains("s3cret"))
        }

        @Test(.enabled(if: SecureServer.missingForTLS == nil, "openssl is not installed"))
        func `The roots of the environment are trusted, through its proxy`() async throws {
            let server = try await SecureServer.openssl("-www")
            let forwarder = try ForwardingServer(at: .proxy, to: server.port)
            var variables = ["https_proxy": "http://127.0.0.1:\(forwarder.port)"]
            let untrusted = await #expect(throws: TransportError.self) {
                try await connection(variables).send(.get(server.url + "/"))
            }
            #expect(untrusted?.code == .tls)

            variables["SSL_CERT_FILE"] = server.root.path
            #expect(try await connection(variables).send(.get(server.url + "/")).status == .ok)
            #expect(forwarder.heads.count == 2)

            let environment = try CurlConnection.Environment(variables)
            var tls = TLSOptions()
            tls.roots = .file(URL(filePath: "/nowhere.pem"))
            let own = try CurlConnection(environment: environment, tls: tls)
            await #expect(throws: TransportError.self) { try await own.send(.get(server.url + "/")) }
        }

        @Test(.enabled(if: SecureServer.missingForTLS == nil, "openssl is not installed"))
        func `A folder of the environment replaces the system's roots`() async throws {
            let server = try await SecureServer.openssl("-www")
            let empty = FileManager.default.temporaryDirectory.appending(
                path: "decorum-\(UInt64.random(in: 0 ... .max))")
            try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: empty) }
            let both = ["SSL_CERT_DIR": empty.path, "SSL_CERT_FILE": server.root.path]
            #expect(try await connection(both).send(.get(server.url + "/")).status == .ok)
            let error = await #expect(throws: TransportError.self) {
                try await connection(["SSL_CERT_DIR": empty.path]).send(.get(server.url + "/"))
            }
            #expect(error?.code == .tls)
        }
    }
}

@Suite struct ProxyExceptionsTests {
    @Test(arguments: [
        ("", "https://a.example", false), ("*", "https://a.example", true), ("b.example *", "https://a.example", true),
        ("a.example", "https://a.example", true), ("A.Example", "https://a.example", true),
        ("a.example", "https://www.a.example", true), (".a.example", "https://www.a.example", true),
        (".a.example", "https://a.example", true), ("*.a.example", "https://www.a.example", true),
        ("a.example.", "https://a.example", true), ("a.example", "https://a.example.", true),
        ("a.example", "https://ba.example", false), ("www.a.example", "https://a.example", false),
        ("example", "https://a.example", true), ("xample", "https://a.example", false),
        ("b.example,a.example", "https://a.example", true), ("b.example,\ta.example ,", "https://a.example", true),
        ("b.example a.example", "https://a.example", true), (",,  ,", "https://a.example", false),
        ("a.example:443", "https://a.example", true), ("a.example:443", "http://a.example", false),
        ("a.example:8080", "http://a.example:8080", true), ("a.example:8080", "http://a.example:8081", false),
        ("*:8080", "http://a.example:8080", true), ("a.example:x", "http://a.example", false),
        ("a.example:99999", "http://a.example", false), ("localhost", "http://localhost:3000", true),
        ("localhost", "http://127.0.0.1", false), ("127.0.0.1", "http://127.0.0.1", true),
        ("0.0.1", "http://127.0.0.1", false), ("127.0.0.1", "http://127.0.0.11", false),
        ("1.0.0.127", "http://127.0.0.1", false), ("127.0.0.1", "http://127.0.0.1.example", false),
        ("10.0.0.0/8", "http://10.200.3.4", true), ("10.0.0.0/8", "http://11.0.0.1", false),
        ("192.168.16.0/20", "http://192.168.31.255", true), ("192.168.16.0/20", "http://192.168.32.0", false),
        ("10.1.2.3/32", "http://10.1.2.3", true), ("10.1.2.3/32", "http://10.1.2.2", false),
        ("0.0.0.0/0", "http://8.8.8.8", true), ("0.0.0.0/0", "http://[::1]", false),
        ("10.0.0.0/33", "http://10.0.0.0", false), ("10.0.0.0/-1", "http://10.0.0.0", false),
        ("10.0.0.0/", "http://10.0.0.0", false), ("10.0.0.0/8:80", "http://10.9.9.9", true),
        ("10.0.0.0/8:80", "http://10.9.9.9:81", false), ("::1", "http://[::1]", true), ("[::1]", "http://[::1]", true),
        ("[::1]:80", "http://[::1]", true), ("[::1]:81", "http://[::1]", false),
        ("0:0:0:0:0:0:0:1", "http://[::1]", true), ("2001:db8::/32", "http://[2001:db8:1::5]", true),
        ("[2001:db8::/32]", "http://[2001:db8:1::5]", false), ("2001:db8::/32", "http://[2001:db9::]", false),
        ("2001:db8::/129", "http://[2001:db8::]", false), ("fe80::/10", "http://[febf::1]", true),
    ])
    func `A host is excluded by the rules of NO_PROXY`(text: String, url: String, isExcluded: Bool) throws {
        #expect(try ProxyExceptions(text).contains(Origin(url)) == isExcluded)
    }

    @Test func `Any text is read without a failure`() throws {
        let generator = SeededGenerator(seed: 3)
        let alphabet = Array("0123456789abf:./[]*-_, \u{E9}\0")
        let origins = try ["http://a.b", "http://10.0.0.1:81", "https://[fe80::1]"].map { try Origin($0) }
        for _ in 0..<5000 {
            let text = String(
                (0..<Int(generator.next() % 24)).map { _ in
                    alphabet[Int(generator.next() % UInt64(alphabet.count))]
                })
            let exceptions = ProxyExceptions(text)
            for origin in origins { _ = exceptions.contains(origin) }
            #expect(try ProxyExceptions(text + ",*").contains(Origin("http://a.b")))
        }
    }
}
#endif
