import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

struct MovedOriginTests {
    private static let link = HTTPField.Name("Link")

    private let folder = TemporaryFolder()

    @Test(arguments: [
        ("http://127.0.0.1:80", "http://localhost:9"), ("http://127.0.0.1:80/a?b", "http://localhost:9/a?b"),
        ("http://127.0.0.1:80?b", "http://localhost:9?b"), ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a"),
        ("https://127.0.0.1:80/a", "https://127.0.0.1:80/a"), ("/a", "/a"), ("", ""),
        ("/a?to=http://127.0.0.1:80/b", "/a?to=http://127.0.0.1:80/b"),
        (
            "<http://127.0.0.1:80/a?p=2>; rel=next, <http://127.0.0.1:80/>; rel=first",
            "<http://localhost:9/a?p=2>; rel=next, <http://localhost:9/>; rel=first"
        ),
    ])
    func `A URL of the recorded origin gets the other one, and no other URL does`(value: String, moved: String) throws {
        let change = try #require(MovedOrigin(from: "http://127.0.0.1:80/items", to: "http://localhost:9/items"))
        let name = try #require(Self.link)
        #expect(
            change.applied(to: [.location: value, name: value, .eTag: value]) == [
                .location: moved, name: moved, .eTag: value,
            ])
    }

    @Test(arguments: [("http://a/x", "http://a/y"), ("/x", "http://a/x"), ("http://a/x", "x"), ("", "")])
    func `The same origin and a text without one need no change`(recorded: String, asked: String) {
        #expect(MovedOrigin(from: recorded, to: asked) == nil)
    }

    @Test(arguments: [CassetteMode.replay, .append])
    func `A recording at one port leads a client on at another one`(mode: CassetteMode) async throws {
        let rules = CassetteRules(matching: [.method, .pathAndQuery, .body])
        let name = try #require(Self.link)
        let server = StubConnection { request in
            switch request.head.path {
            case "/old": Response(status: .found, fields: [.location: "http://127.0.0.1:4001/items"])
            case "/items":
                Response(status: .ok, fields: [name: "<http://127.0.0.1:4001/items?page=2>; rel=\"next\""], body: "1")
            default: Response(status: .ok, fields: [.location: "http://other.example/x"], body: "2")
            }
        }
        let file = folder.path("a.json")
        func run(_ port: Int, _ mode: CassetteMode) async throws {
            let cassette = try Cassette(at: file, mode: mode, rules: rules)
            let connection = CassetteConnection(cassette, recording: server).followingRedirects()
            let first = try await connection.send(.get("http://127.0.0.1:\(port)/old"))
            #expect(first.metadata.url?.port == port)
            let next = try #require(first.link("next"))
            let second = try await connection.send(.get(next.absoluteString))
            #expect(second.metadata.url?.port == port)
            #expect(second.head.headerFields[.location] == "http://other.example/x")
            #expect(try await first.body.text(upTo: 9) + second.body.text(upTo: 9) == "12")
            try await cassette.finish()
        }
        try await run(4001, .rewrite)
        try await run(4002, mode)
        #expect(server.requests.count == 3)
    }
}
