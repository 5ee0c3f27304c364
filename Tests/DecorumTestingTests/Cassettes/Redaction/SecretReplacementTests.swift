import Decorum
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTesting

/// A recording lists the values that it has replaced, and rules leave them.
@Suite struct SecretReplacementTests {
    private static let content = #"{"choices":[{"token":"x7Rq2Lm"},{"token":"y7Rq2Lm"}],"user":{"password":"hunter2"}}"#

    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func record(allowing allowances: [SecretAllowance] = []) async throws -> [SecretReplacement] {
        var rules = CassetteRules()
        rules.allowedSecrets = allowances
        let list = Mutex<[SecretReplacement]>([])
        rules.reportReplacements = { replacements, _ in list.withLock { $0 = replacements } }
        let cassette = try Cassette(at: folder.path("a.json"), mode: .append, rules: rules)
        let stub = StubConnection { _ in
            Response(
                status: .ok, fields: [.contentType: "application/json", .setCookie: "sid=x7Rq2LmZ9sKd4TbV; Path=/"],
                body: Body(Data(Self.content.utf8)))
        }
        let request = try Request.get(
            "https://api.example.com/items?api_key=k7Rq2Lm&page=2", fields: [.authorization: "Bearer z7Rq2LmZ9sKd4TbV"])
        _ = try await CassetteConnection(cassette, recording: stub).send(request).body.collect(upTo: 1000)
        try await cassette.finish()

        let replaying = try Cassette(at: folder.path("a.json"), mode: .replay, rules: rules)
        _ = try await CassetteConnection(replaying).send(request)
        try await replaying.finish()
        return list.withLock { $0 }
    }

    @Test func `Each replaced value is listed with the rule that leaves it`() async throws {
        let list = try await record()
        #expect(
            Set(list.map(\.rule)) == [
                "rules.allowedSecrets.append(.item(\"api_key\"))",
                "rules.allowedSecrets.append(.field(\"authorization\"))",
                "rules.allowedSecrets.append(.json(\"choices.token\"))",
                "rules.allowedSecrets.append(.json(\"user.password\"))",
                "rules.allowedSecrets.append(.item(\"sid\"))",
            ])
        #expect(list.contains { $0.place == "user.password in JSON" && $0.placeholder == "__password-1__" })
        let text = try folder.text("a.json")
        for replacement in list { #expect(text.contains(replacement.placeholder)) }
        for secret in ["hunter2", "7Rq2Lm"] {
            #expect(!text.contains(secret))
            #expect(!"\(list)".contains(secret))
        }
    }

    @Test func `The tests of a suite list each rule once, whatever file they record`() async throws {
        let lists = Mutex<[[String]]>([])
        var rules = CassetteRules()
        rules.reportReplacements = { replacements, _ in lists.withLock { $0.append(replacements.map(\.place)) } }
        let defaults = CassetteDefaults(rules: rules, shared: SharedCassettes(isPartial: false))
        for (name, content) in [("a", #"{"token":"x7Rq2Lm"}"#), ("b", #"{"token":"y7Rq2Lm","pin":"4711"}"#)] {
            let cassette = try defaults.cassette(at: folder.path("\(name).json"), rules: nil, mode: .once, test: name)
            let stub = StubConnection { _ in
                Response(status: .ok, fields: [.contentType: "application/json"], body: Body(Data(content.utf8)))
            }
            _ = try await CassetteConnection(cassette, recording: stub).send(
                .get("https://example.com/?api_key=k7Rq2Lm"))
            try await cassette.finish()
        }
        #expect(lists.withLock { $0 } == [["api_key in a query or form", "token in JSON"], ["pin in JSON"]])
    }

    @Test func `Each listed rule leaves its value`() async throws {
        let authorization = try #require(HTTPField.Name("authorization"))
        let list = try await record(allowing: [
            .item("api_key"), .field(authorization), .json("choices.token"), .json("user.password"), .item("sid"),
        ])
        #expect(list.isEmpty)
        let text = try folder.text("a.json")
        for secret in ["hunter2", "x7Rq2Lm", "y7Rq2Lm", "k7Rq2Lm"] { #expect(text.contains(secret)) }
    }

    @Test func `A rule for JSON leaves its value in an event stream too`() {
        let stream =
            "event: delta\ndata: {\"choices\":[{\"token\":\"x7Rq2Lm\"}],\"session_token\":\"y7Rq2Lm\"}\n\n"
            + "data: api_key=z7Rq2Lm\n\ndata: {\"token\":\"x8Rq2Lm\n"
        let rewriting = SecretRewriting(.standard, by: Pseudonyms(), allowing: [.json("choices.token")])
        let output = rewriting.applied(to: Data(stream.utf8), mediaType: "text/event-stream; charset=utf-8")
        #expect(
            String(decoding: output, as: UTF8.self)
                == "event: delta\ndata: {\"choices\":[{\"token\":\"x7Rq2Lm\"}],\"session_token\":\"__token-1__\"}\n\n"
                + "data: api_key=__key-1__\n\ndata: {\"token\":\"__token-2__\n")
    }

    @Test(arguments: [
        (1, "1 secret was replaced", false), (200, "200 secrets were", false), (201, "201 secrets were", true),
    ])
    func `A report shows at most two hundred places`(count: Int, start: String, isCut: Bool) async throws {
        let names = (0..<count).map { "\"k\($0)\":{\"token\":\"x7Rq2Lm\($0)\"}" }
        let pseudonyms = Pseudonyms(readsPaths: true)
        _ = SecretRewriting(.standard, by: pseudonyms)
            .applied(to: Data("{\(names.joined(separator: ","))}".utf8), mediaType: "application/json")
        let report = SecretReplacement.report(pseudonyms.list, of: "a.json")
        #expect(report.hasPrefix("a.json: \(start)"))
        #expect(
            report.contains("k0.token in JSON: __token-1__; to leave it: rules.allowedSecrets.append(.json(\"k0."))
        #expect(report.hasSuffix("\n  and others\n") == isCut)
    }

    @Test func `An allowed text stays under every name`() async throws {
        let list = try await record(allowing: ["hunter2", "x7Rq2LmZ9sKd4TbV"])
        #expect(list.map(\.name).sorted() == ["api_key", "authorization", "token", "token"])
        #expect(try folder.text("a.json").contains("hunter2"))
    }

    @Test func `A replaced value keeps its type, and a word stays`() async throws {
        let content = #"{"token":" Hello","session_id":48213377,"jwt":"x7Rq2LmZ9sKd4TbV","secret":true,"otp":"482133"}"#
        let rewriting = SecretRewriting(.standard, by: Pseudonyms())
        let output = rewriting.applied(to: Data(content.utf8), mediaType: "application/json")
        #expect(
            String(decoding: output, as: UTF8.self)
                == #"{"token":" Hello","session_id":10101001,"jwt":"__token-1__","secret":true,"otp":"101001"}"#)
    }
}
