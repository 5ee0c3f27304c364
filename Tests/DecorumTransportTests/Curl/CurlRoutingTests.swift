#if os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

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

        @Test func `A Unix socket replaces every host, and a missing one refuses the connection`() async throws {
            let path = Self.newSocketPath()
            defer { unsafe unlink(path) }
            let forwarder = try ForwardingServer(at: .file(path), to: origin.port)
            let connection = try CurlConnection(unixSocket: path)
            let response = try await connection.send(.post("http://docker.invalid/version?a", body: "hello"))

            #expect(try await response.body.text(upTo: 10) == "ok")
            #expect(origin.requests.map(\.target) == ["/version?a"])
            #expect(origin.requests.map { $0.fields["Host"] } == ["docker.invalid"])
            #expect(response.metadata.timings?.remoteAddress == nil)
            let error = await #expect(throws: TransportError.self) {
                try await CurlConnection(unixSocket: "/nowhere/decorum.socket").send(.get("http://localhost/"))
            }
            #expect(error?.code == .connectionRefused && error?.stage == .connecting)
            withExtendedLifetime(forwarder) {}
        }
    }
}
#endif
