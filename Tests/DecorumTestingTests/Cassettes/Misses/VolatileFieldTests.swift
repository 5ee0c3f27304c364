import Decorum
import DecorumTesting
import HTTPTypes
import Testing

/// A rule that compares a field whose value is another one in each run.
@Suite struct VolatileFieldTests {
    private let recorder: TestRecorder

    init() throws { recorder = try TestRecorder() }

    /// Records a request with a field, and returns the miss of another one by a rule.
    private func miss(_ rule: MatchingRule, recorded: HTTPFields, live: HTTPFields) async throws -> String {
        let rules = CassetteRules(matching: [.method, .url, rule])
        _ = try await recorder.run(.once, [.get("https://example.com/a", fields: recorded)], rules: rules) { _ in
            Response(status: .ok)
        }
        let connection = CassetteConnection(try recorder.cassette(.replay, rules: rules))
        let error = await #expect(throws: CassetteMissError.self) {
            try await connection.send(.get("https://example.com/a", fields: live))
        }
        return try #require(error).description
    }

    private static let remedy =
        "pass the code a fixed UUID, number or time, or take the rule `header Date` out of `rules.matching`; else if the "
        + "change is meant, `CASSETTE=rewrite"

    @Test(arguments: [[:], [.date: "2026-11-25T11:51:32Z"]] as [HTTPFields])
    func `A field with the time is not mended by a new recording`(recorded: HTTPFields) async throws {
        let text = try await miss(.header(.date), recorded: recorded, live: [.date: "2026-11-26T11:51:32Z"])
        let words =
            "\nfix: the value may be another one in each run, and then no new recording mends it: \(Self.remedy)"
        #expect(text.contains(words), "\(text)")
    }

    @Test func `A field with another plain value may be mended`() async throws {
        let advice = "\nfix: if the change is meant, `CASSETTE=rewrite"
        let accept = try await miss(.header(.accept), recorded: [.accept: "a/b"], live: [.accept: "a/c"])
        #expect(accept.contains(advice), "\(accept)")
    }

    @Test func `A field that the request has lost gets no advice on its value`() async throws {
        let text = try await miss(.header(.date), recorded: [.date: "2026-11-25T11:51:32Z"], live: [:])
        #expect(text.contains("\nfix: if the change is meant, `CASSETTE=rewrite"), "\(text)")
    }

    @Test func `The rule for a random value that no rule ignores is named`() async throws {
        let rule = MatchingRule("batch") { $0.fields[.userAgent] ?? "" }
        let text = try await miss(
            rule, recorded: [.userAgent: "a 1793300000123"], live: [.userAgent: "a 1793300000999"])
        #expect(
            text.contains(
                "\nfix: a value that looks random differs, which no new recording mends: pass the code a fixed UUID, number or "
                    + "time, or take the rule `batch` out of `rules.matching`; else `CASSETTE=rewrite"), "\(text)")
    }
}
