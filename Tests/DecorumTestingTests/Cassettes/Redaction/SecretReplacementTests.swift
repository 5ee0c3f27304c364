import Decorum
import DecorumTestSupport
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import DecorumTesting

/// A recording lists the values that it has replaced, and rules leave them.
@Suite struct SecretReplacementTests {
    private static let content = #"{"choices":[{"token":"x7Rq2Lm"},{"token":"y7Rq2Lm"}],"user":{"password":"hunter2"}}"#

    let folder = TemporaryFolder()

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
        let pseudonyms = Pseudonyms()
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
}

/// The rule that a recording lists for a replaced value leaves that value.
@Suite struct ListedRuleTests {
    /// The places whose secrets have no name, so that only the value itself tells which one is meant.
    private static let placesWithoutName: Set<String> = ["path of a URL", "user name and password in a URL"]

    private static let longName = String(repeating: "n", count: 81)

    let folder = TemporaryFolder()

    /// Records an exchange in a file, and returns the values that were replaced.
    private func record(
        _ planted: PlantedSecret, in file: String, allowing allowances: [SecretAllowance] = []
    ) async throws -> [SecretReplacement] {
        var rules = CassetteRules()
        rules.allowedSecrets = allowances
        let list = Mutex<[SecretReplacement]>([])
        rules.reportReplacements = { replacements, _ in list.withLock { $0 = replacements } }
        let cassette = try Cassette(at: folder.path(file), mode: .append, rules: rules)
        let connection = CassetteConnection(cassette, recording: StubConnection { _ in planted.response() })
        _ = try await connection.send(planted.request()).body.collect(upTo: 10_000)
        try await cassette.finish()
        return list.withLock { $0 }
    }

    private func expectLeft(
        _ planted: PlantedSecret, allowing allowances: [SecretAllowance],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let replaced = try await record(planted, in: "left.json", allowing: allowances)
        #expect(replaced.isEmpty, "\(replaced)", sourceLocation: sourceLocation)
        #expect(try folder.text("left.json").contains(planted.secret), sourceLocation: sourceLocation)
    }

    @Test(arguments: PlantedSecret.treated(.replacedByName))
    func `The listed rules leave each value that has a name`(planted: PlantedSecret) async throws {
        let list = try await record(planted, in: "replaced.json")
        try #require(!list.isEmpty)
        #expect(!list.contains { Self.placesWithoutName.contains($0.place) })
        let allowances = list.compactMap(\.allowance)
        #expect(allowances.count == list.count, "\(list)")
        try await expectLeft(planted, allowing: allowances)
    }

    @Test(arguments: PlantedSecret.treated(.replacedByPlace))
    func `A value without a name has no rule but the value itself`(planted: PlantedSecret) async throws {
        let others = try await record(planted, in: "replaced.json").filter { $0.allowance == nil }
        #expect(!others.isEmpty)
        #expect(others.allSatisfy { Self.placesWithoutName.contains($0.place) }, "\(others)")
        #expect(others.allSatisfy { $0.rule == #"rules.allowedSecrets.append("the value")"# }, "\(others)")
    }

    @Test(arguments: [
        (PlantedSecret(.responseField("Location"), "https://me:§@api.example.com/"), "me:" + PlantedSecret.opaque),
        (PlantedSecret(.responseField("Location"), "https://§@api.example.com/"), PlantedSecret.opaque),
        (PlantedSecret(.url, "https://api.example.com/reset/§"), PlantedSecret.opaque),
        (PlantedSecret(.url, "https://hooks.slack.com/services/T01/B02/§"), "T01/B02/" + PlantedSecret.opaque),
    ])
    func `The value itself leaves what has no name`(planted: PlantedSecret, value: String) async throws {
        let list = try await record(planted, in: "replaced.json")
        #expect(list.map(\.rule) == [#"rules.allowedSecrets.append("the value")"#])
        try await expectLeft(planted, allowing: [.text(value)])
    }

    @Test(arguments: [
        (#"{"auth.token":"§"}"#, #""auth\\.token""#), (#"{"user[password]":"§"}"#, #""user[password]""#),
        (#"{"*":{"token":"§"}}"#, #""\\*.token""#), (#"{"$":{"token":"§"}}"#, #""\\$.token""#),
        (#"{"a\\b":{"token":"§"}}"#, #""a\\\\b.token""#), (#"{"pass\u0077ord":"§"}"#, #""password""#),
        (#"{"token":{"":"§"}}"#, #""token.""#), (#"{"users":[{"token":"§"}]}"#, #""users.token""#),
        (#"{"\#(longName)":{"token":"§"}}"#, #""*.token""#), (#"{"a":"{\"token\":\"§\"}"}"#, #""token""#),
        (#"callback({"token":"§"});"#, #""**.token""#), (#"callback({"auth.token":"§"});"#, #""**.auth\\.token""#),
        (#"{"user":{"token":"§"#, #""**.token""#), (#"{"secret":{"a":["§""#, #""secret.a""#),
    ])
    func `A rule names each place in JSON, and in text that is nearly JSON`(
        content: String, pattern: String
    ) async throws {
        let planted = PlantedSecret(.responseContent("application/json"), content)
        let list = try await record(planted, in: "replaced.json")
        #expect(list.map(\.rule) == ["rules.allowedSecrets.append(.json(\(pattern)))"])
        #expect(!"\(list)".contains(planted.secret))
        try await expectLeft(planted, allowing: list.compactMap(\.allowance))
    }

    @Test(arguments: [
        (PlantedSecret(.url, "https://api.example.com/?user%5Bpassword%5D=§"), #".item("user[password]")"#),
        (PlantedSecret(.url, "https://api.example.com/?filter=%7B%22token%22%3A%22§%22%7D"), #".item("filter")"#),
        (PlantedSecret(.requestField("Cookie"), "theme=dark; session=§"), #".item("session")"#),
        (PlantedSecret(.requestField("X-Shop-Key"), "§"), #".field("x-shop-key")"#),
        (PlantedSecret(.requestField("X-Context"), #"{"a":"b=c?","token":"§"}"#), #".json("token")"#),
    ])
    func `A rule has the name of an item or a field without its encoding`(
        planted: PlantedSecret, rule: String
    ) async throws {
        let list = try await record(planted, in: "replaced.json")
        #expect(list.map(\.rule) == ["rules.allowedSecrets.append(\(rule))"])
        try await expectLeft(planted, allowing: list.compactMap(\.allowance))
    }

    @Test func `A long name is not printed as a rule`() {
        let listed = SecretReplacement(NamedSecret(Array("x7Rq2Lm".utf8), named: Self.longName.utf8, at: .item), [])
        #expect(listed.allowance == nil)
        #expect(listed.rule == #"rules.allowedSecrets.append("the value")"#)
    }
}
