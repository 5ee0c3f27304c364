import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// Requests are matched without the values that the file has replaced, and with all others.
@Suite struct SecretMatchingTests {
    let folder = TemporaryFolder()
    let rules = CassetteRules.silent

    private static let echo = StubConnection { request in
        Response(status: .ok, body: Body(Data((request.head.path ?? "").utf8)))
    }

    private func get(_ connection: some Connection, _ path: String) async throws -> String {
        try await connection.send(.get("https://example.com" + path)).body.text(upTo: 1000)
    }

    @Test(arguments: ["code", "token", "key"])
    func `Words under the name of a secret tell requests apart`(name: String) async throws {
        let cassette = try Cassette(at: folder.path("a.json"), mode: .once, rules: rules)
        for word in ["de", "fr"] {
            _ = try await get(CassetteConnection(cassette, recording: Self.echo), "/a?\(name)=\(word)")
        }
        try await cassette.finish()
        let replaying = try Cassette(at: folder.path("a.json"), mode: .replay, rules: rules)
        for word in ["fr", "de"] {
            #expect(try await get(CassetteConnection(replaying), "/a?\(name)=\(word)") == "/a?\(name)=\(word)")
        }
        let miss = await #expect(throws: CassetteMissError.self) {
            try await get(CassetteConnection(replaying), "/a?\(name)=en")
        }
        #expect(miss?.description.contains("now       \(name)=en") == true, "\(miss?.description ?? "")")
    }

    @Test(arguments: ["x7Rq2LmZ9sKd4TbV", "dummy", "1"])
    func `A recorded secret is answered whatever the test has in its place`(token: String) async throws {
        let cassette = try Cassette(at: folder.path("a.json"), mode: .once, rules: rules)
        _ = try await get(CassetteConnection(cassette, recording: Self.echo), "/a?token=y7Rq2LmZ9sKd4TbV&b=1")
        try await cassette.finish()
        let replaying = try Cassette(at: folder.path("a.json"), mode: .replay, rules: rules)
        _ = try await get(CassetteConnection(replaying), "/a?b=1&token=\(token)")
        try await replaying.finish()
    }

    @Test func `Requests with placeholders get the answers of the same users, in whatever order`() async throws {
        let server = StubConnection { request in
            let path = request.head.path ?? ""
            let user = request.head.headerFields[.authorization].map { $0.hasSuffix("Ann1x") ? "Ann" : "Bob" }
            let token = path.hasSuffix("Ann") ? "x7Rq2LmZ9sKd4TbVAnn1x" : "x7Rq2LmZ9sKd4TbVBob1x"
            return Response(
                status: .ok, fields: [.contentType: "application/json"],
                body: Body(Data(#"{"access_token":"\#(token)","user":"\#(user ?? "")"}"#.utf8)))
        }
        func run(_ cassette: Cassette, _ users: [String]) async throws {
            let connection = CassetteConnection(cassette, recording: server)
            var tokens: [String: Substring] = [:]
            for user in users {
                let text = try await get(connection, "/login?user=\(user)")
                tokens[user] = try #require(text.firstMatch(of: /"access_token":\s*"([^"]+)"/)?.1)
            }
            for user in users {
                let token = try #require(tokens[user])
                let request = try Request.get(
                    "https://example.com/me", fields: [.authorization: "Bearer \(token)"])
                let text = try await connection.send(request).body.text(upTo: 1000)
                #expect(text.contains(user), "\(text)")
            }
            try await cassette.finish()
        }
        try await run(Cassette(at: folder.path("a.json"), mode: .once, rules: rules), ["Ann", "Bob"])
        try await run(Cassette(at: folder.path("a.json"), mode: .replay, rules: rules), ["Bob", "Ann"])
    }
}

/// A placeholder is the same one in whatever spelling of its characters a URL or a form has it.
@Suite struct CodedPlaceholderTests {
    let folder = TemporaryFolder()

    private func interaction(_ request: String, answer: String) -> String {
        #"{"request": {\#(request)}, "response": {"status": 200, "text": "\#(answer)"}}"#
    }

    private func cassette(_ interactions: String...) throws -> Cassette {
        try folder.write(
            #"{"cassette": 1, "interactions": [\#(interactions.joined(separator: ",\n"))]}"#, to: "a.json")
        return try Cassette(at: folder.path("a.json"), mode: .replay, rules: CassetteRules(unused: .allow))
    }

    private static let spellings = ["Redacted2AAAAAAA", "Redacted2%41AAAAAA", "%52edacted2AAA%41%41AA"]

    @Test(arguments: spellings)
    func `A placeholder in a query or a form chooses its recording`(placeholder: String) async throws {
        let form = "application/x-www-form-urlencoded"
        let query = #""method": "GET", "url": "https://example.com/me?token="#
        let headers = #""headers": {"Content-Type": "\#(form)"}"#
        let start = #""method": "POST", "url": "https://example.com/me", \#(headers), "text": "#
        let cassette = try cassette(
            interaction(query + #"Redacted1AAAAAAA""#, answer: "Ann"),
            interaction(query + #"Redacted2AAAAAAA""#, answer: "Bob"),
            interaction(start + #""token=Redacted1AAAAAAA""#, answer: "Ann"),
            interaction(start + #""token=Redacted2AAAAAAA""#, answer: "Bob"))
        let requests = [
            try Request.get("https://example.com/me?token=\(placeholder)"),
            try .post("https://example.com/me", fields: [.contentType: form], body: Body("token=\(placeholder)")),
        ]
        for request in requests {
            let response = try await CassetteConnection(cassette).send(request)
            #expect(try await response.body.text(upTo: 100) == "Bob")
        }
    }

    @Test(arguments: spellings)
    func `A placeholder at a place without a name matches in each spelling`(placeholder: String) async throws {
        let cassette = try cassette(
            interaction(
                #""method": "GET", "url": "https://example.com/a/\#(placeholder)/b?page=1""#, answer: "found"))
        let response = try await CassetteConnection(cassette)
            .send(.get("https://example.com/a/Redacted7AAAAAAA/b?page=1"))
        #expect(try await response.body.text(upTo: 100) == "found")
    }
}

/// A request that is written exactly like a recorded one is found without its key, and with the same result.
@Suite struct WrittenTargetTests {
    let folder = TemporaryFolder()

    /// The answers to requests for targets, from a cassette that has one interaction for each of others.
    private func answers(
        to targets: [String], recorded: [String], rules: CassetteRules = CassetteRules(unused: .allow)
    ) async throws -> [String] {
        let interactions = recorded.enumerated().map { index, target in
            """
            {"request": {"method": "GET", "url": "https://example.com\(target)"},
            "response": {"status": 200, "text": "\(index)"}}
            """
        }
        try folder.write(
            #"{"cassette": 1, "interactions": [\#(interactions.joined(separator: ","))]}"#, to: "feed.json")
        let connection = CassetteConnection(try Cassette(at: folder.path("feed.json"), mode: .replay, rules: rules))
        var answers: [String] = []
        for target in targets {
            let response = try? await connection.send(.get("https://example.com" + target))
            answers.append(try await response?.body.text(upTo: 100) ?? "miss")
        }
        return answers
    }

    @Test func `Equivalent URLs are played in the order of the file, however the request is written`() async throws {
        let recorded = ["/?a=1&b=2", "/?b=2&a=1", "/%61", "/a"]
        let queries = ["/?b=2&a=1", "/?b=2&a=1", "/?a=1&b=2"]
        #expect(try await answers(to: queries, recorded: recorded) == ["0", "1", "miss"])
        #expect(try await answers(to: ["/a", "/%61"], recorded: recorded) == ["2", "3"])
        #expect(try await answers(to: ["/%61", "/a"], recorded: recorded) == ["2", "3"])
    }

    @Test func `A rule that ignores an item does so in a request that is written like a recording`() async throws {
        let rules = CassetteRules(matching: [.url(ignoring: "ts")], unused: .allow)
        let targets = ["/?ts=2&x=1", "/?x=1", "/?ts=9&x=1", "/?x=1"]
        #expect(
            try await answers(to: targets, recorded: ["/?x=1", "/?ts=2&x=1", "/?ts=3&x=1"], rules: rules)
                == ["0", "1", "2", "miss"])
    }
}

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
