import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Cookies over sockets.
@Suite(.timeLimit(.minutes(3))) struct CookieWireTests {
    @Test func `A session goes on over a socket until the user signs out`() async throws {
        let server = try LoopbackOrigin()
        defer { server.stop() }
        server.route(nil, "/login") { _ in
            .init(
                .seeOther,
                fields: ["Set-Cookie": "session=1; Path=/; HttpOnly", "Set-Cookie": "theme=a, b", "Location": "/"])
        }
        server.route(nil, "/") { request in
            .init(
                .ok,
                body: CookiePair.all(in: request.head.headerFields).map { "\($0.name)=\($0.value)" }.joined(
                    separator: "|"))
        }
        let jar = CookieJar(suffixes: .conservative)
        let connection = SystemConnection().keepingCookies(in: jar).followingRedirects()
        #expect(try await connection.send(.get("\(server.url)/")).body.text(upTo: 100) == "")
        #expect(try await connection.send(.get("\(server.url)/login")).body.text(upTo: 100) == "session=1|theme=a, b")
        #expect(try await connection.send(.get("\(server.url)/")).body.text(upTo: 100) == "session=1|theme=a, b")

        let head = String(decoding: server.requests.last?.rawHead ?? Data(), as: UTF8.self)
        #expect(head.contains("ookie: session=1; theme=a, b\r\n"))

        jar.removeCookies(of: nil)
        #expect(try await connection.send(.get("\(server.url)/")).body.text(upTo: 100) == "")
    }
}
