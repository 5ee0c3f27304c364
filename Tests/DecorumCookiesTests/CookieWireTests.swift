import DecorumCookies
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Cookies and other credentials over sockets, and the bytes that reach a foreign server.
@Suite(.timeLimit(.minutes(3))) struct CookieWireTests {
    private static let codes = [301, 302, 303, 307, 308]

    @Test(arguments: codes)
    func `No shape of a redirection takes a credential to another server`(code: Int) async throws {
        let (home, foreign) = (try LoopbackOrigin(), try LoopbackOrigin())
        defer {
            home.stop()
            foreign.stop()
        }
        let away = "http://localhost:\(foreign.port)"
        let shapes: [(path: String, location: String)] = [
            ("/absolute", "\(away)/end"), ("/without-scheme", "//localhost:\(foreign.port)/end"),
            ("/chain", "/absolute"),
            ("/back", "\(away)/back"), ("/fragment", "\(away)/end#geheim"),
        ]
        for shape in shapes {
            home.route(nil, shape.path) { _ in .init(.init(code: code), fields: ["Location": shape.location]) }
        }
        home.route(nil, "/home") { _ in .init(.ok, fields: ["Set-Cookie": "session=geheim-1; Path=/"]) }
        foreign.route(nil, "/back") { _ in .init(.init(code: code), fields: ["Location": "\(home.url)/home"]) }
        foreign.route(nil, "/end") { _ in .init(.ok, fields: ["Set-Cookie": "session=evil; Domain=127.0.0.1"]) }

        let jar = CookieJar(suffixes: .conservative)
        let connection = SystemConnection()
            .authenticating(with: try .bearer("geheim-2"), for: home.origin)
            .keepingCookies(in: jar)
            .followingRedirects()
        _ = try await connection.send(.get("\(home.url)/home"))
        let key = try #require(HTTPField.Name("X-API-Key"))
        for own in [nil, "own=geheim-3"] {
            for shape in shapes {
                var request = try Request.get(home.url + shape.path)
                request.head.headerFields[key] = "geheim-4"
                request.options.secretFields = [key]
                request.head.headerFields[.cookie] = own
                _ = try await connection.send(request).body.text(upTo: 1000)
            }
        }

        #expect(foreign.requests.count == 2 * shapes.count)
        for request in foreign.requests {
            let head = String(decoding: request.rawHead, as: UTF8.self).lowercased()
            #expect(
                !head.contains("geheim") && !head.contains("authorization") && !head.contains("x-api-key"), "\(head)")
        }
        let returned = home.requests.filter { $0.path == "/home" }.dropFirst()
        #expect(returned.count == 2)
        for request in returned {
            let head = String(decoding: request.rawHead, as: UTF8.self)
            #expect(
                head.contains("session=geheim-1") && !head.contains("geheim-2") && !head.contains("geheim-4"), "\(head)"
            )
            #expect(!head.contains("geheim-3") && !head.contains("evil"))
        }
    }

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
