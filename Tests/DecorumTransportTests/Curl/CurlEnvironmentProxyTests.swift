#if os(Linux)
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

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
    private static let rules: [(String, String, Bool)] = [
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
    ]

    @Test(arguments: rules)
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
