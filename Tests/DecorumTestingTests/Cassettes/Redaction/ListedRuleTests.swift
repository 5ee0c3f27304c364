import Decorum
import Foundation
import Synchronization
import Testing

@testable import DecorumTesting

/// The rule that a recording lists for a replaced value leaves that value.
@Suite struct ListedRuleTests {
    /// The places whose secrets have no name, so that only the value itself tells which one is meant.
    private static let placesWithoutName: Set<String> = ["path of a URL", "user name and password in a URL"]

    private static let longName = String(repeating: "n", count: 81)

    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

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
