#if os(Linux)
import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

extension IsolatedTests {
    /// Where a request goes: addresses, proxies and sockets.
    @Suite(.timeLimit(.minutes(1))) struct CurlRoutingTests {
        let origin: LoopbackOrigin

        init() throws {
            origin = try LoopbackOrigin()
            origin.route(nil, "*", "ok")
        }

        @Test func `A route takes the place of a host's own addresses`() async throws {
            let route = CurlConnection.Route(host: "api.decorum.invalid", port: origin.port, addresses: ["127.0.0.1"])
            let connection = try CurlConnection(routes: [route])
            let response = try await connection.send(.get("http://api.decorum.invalid:\(origin.port)/a"))

            #expect(response.status == .ok)
            #expect(origin.requests.map { $0.fields["Host"] } == ["api.decorum.invalid:\(origin.port)"])
        }

        @Test func `A proxy gets the whole URL, and its password`() async throws {
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

        @Test func `A proxy that refuses to connect is told, and nothing was sent`() async throws {
            origin.enqueue(.init(.proxyAuthenticationRequired))
            let connection = try CurlConnection(proxy: CurlConnection.Proxy(origin.url))

            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.get("https://api.decorum.invalid/"))
            }
            #expect(error?.code == .unreachable)
            #expect(error?.stage == .connecting)
        }

        @Test func `A proxy's URL with a password is refused`() {
            #expect(throws: InvalidRequestError.self) { try CurlConnection.Proxy("http://me:secret@proxy.example") }
        }

        @Test func `A socket that is not there refuses`() async throws {
            let connection = try CurlConnection(unixSocket: "/nowhere/decorum.socket")

            let error = await #expect(throws: TransportError.self) {
                try await connection.send(.get("http://localhost/"))
            }
            #expect(error?.code == .connectionRefused)
            #expect(error?.stage == .connecting)
        }
    }
}

extension IsolatedTests {
    @Suite(.timeLimit(.minutes(1))) struct CurlEnvironmentTests {
        @Test func `The environment's proxy is ignored`() async {
            await #expect(processExitsWith: .success) {
                let proxy = try LoopbackOrigin.refusing()
                for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
                    _ = unsafe setenv(name, proxy.url, 1)
                }
                let origin = try LoopbackOrigin()
                origin.route(nil, "*", "ok")
                let response = try await CurlConnection().send(.get(origin.url + "/"))
                #expect(response.status == .ok)
            }
        }
    }
}
#endif
