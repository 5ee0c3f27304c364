import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Requests are matched without the values that the file has replaced, and with all others.
@Suite struct SecretMatchingTests {
    let folder: TemporaryFolder
    let rules = CassetteRules.silent

    init() throws { folder = try TemporaryFolder() }

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
