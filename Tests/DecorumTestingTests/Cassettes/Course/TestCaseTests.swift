import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// Cases of a parameterised test whose arguments have another text in each run.
@Suite struct TestCaseTests: SharedRecording {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: [
        ("FeedTests.page(2)", "FeedTests.page"), ("FeedTests.page(#1a, .free(2)) 2", "FeedTests.page"),
        ("FeedTests.page", nil), ("FeedTests.A page (of two)", nil),
        ("FeedTests.A page (of two)(1)", "FeedTests.A page (of two)"),
        ("page(", nil), ("(1)", nil),
    ])
    func `A case is known by the parenthesis behind the name of its test`(name: String, test: String?) {
        #expect(TestCase(name)?.test == test)
    }

    @Test func `Only cases in whose place others ran are replaced`() {
        func replaced(_ recorded: Set<String>, _ opened: Set<String>) -> [String: Set<String>] {
            TestCase.replaced(recorded: recorded, opened: opened)
        }
        #expect(replaced(["t(1)", "t(2)", "u(1)"], ["t(1)", "t(3)"]) == ["t": ["t(2)"]])
        // A case that was added, one that was removed, and a test that did not run.
        #expect(replaced(["t(1)"], ["t(1)", "t(2)"]).isEmpty)
        #expect(replaced(["t(1)", "t(2)"], ["t(1)"]).isEmpty)
        #expect(replaced(["t(1)", "u"], ["v(1)"]).isEmpty)
    }

    /// Runs the cases of a test in a suite, and returns what is reported at its end.
    private func runCases(
        _ mode: CassetteMode, _ names: [String], isPartial: Bool = false, rules: CassetteRules = CassetteRules()
    ) async throws -> [String] {
        let shared = SharedCassettes(isPartial: isPartial)
        let path = folder.path("report-\(mode.rawValue)")
        let report = CassetteReportFile(at: path, isPartial: isPartial, run: "\(names)")
        let defaults = CassetteDefaults(shared: shared, report: report)
        try await CassetteDefaults.$current.withValue(defaults) {
            for name in names {
                let cassette = try CassetteDefaults.current.cassette(
                    at: folder.path("shared.json"), rules: rules, mode: mode, test: name)
                let stub = StubConnection(Response(status: .ok, body: "a"))
                _ = try? await CassetteConnection(cassette, recording: stub)
                    .send(.get("https://example.com/\(name.hasPrefix("other") ? "b" : "a")"))
                try? await cassette.finish()
            }
        }
        return shared.unused().map { "\($0)" }
    }

    @Test func `Cases that record again in each run fail the suite with the remedy`() async throws {
        #expect(try await runCases(.once, ["t(#1)", "t(#2)", "other"]).isEmpty)
        let texts = try await runCases(.once, ["t(#3)", "t(#4)", "other"])
        #expect(texts.count == 1)
        let text = try #require(texts.first)
        #expect(text.contains("GET https://example.com/a  (line"), "\(text)")
        #expect(text.contains("this run had none of some recorded cases of t, but new ones"), "\(text)")
        #expect(text.contains("conform its type to `CustomTestStringConvertible`"), "\(text)")
        let report = try CassetteReportFile(at: folder.path("report-once"), isPartial: false).report()
        #expect(report.cassettes.first?.changedTests == ["t"])
        #expect(report.description.contains("cases     this run had none of some recorded cases of t"))
    }

    @Test func `A case that is added, a part of the tests and rules that allow it report nothing`() async throws {
        _ = try await runCases(.once, ["t(#1)", "t(#2)"])
        #expect(try await runCases(.once, ["t(#1)", "t(#2)", "t(#3)"]).isEmpty)
        #expect(try await runCases(.once, ["t(#4)"], isPartial: true).isEmpty)
        // A recording that a case of this run has played too is not left over.
        #expect(try await runCases(.once, ["t(#2)", "t(#6)"]).isEmpty)
        #expect(try await runCases(.once, ["t(#5)"], rules: CassetteRules(unused: .allow)).isEmpty)
    }

    @Test func `The miss of a case that is new in replay names the remedy`() async throws {
        _ = try await runCases(.once, ["t(#1)"])
        let cassette = try CassetteDefaults(shared: SharedCassettes(isPartial: true)).cassette(
            at: folder.path("shared.json"), rules: nil, mode: .replay, test: "t(#2)")
        let miss = await #expect(throws: CassetteMissError.self) {
            try await CassetteConnection(cassette).send(.get("https://example.com/a"))
        }
        let text = try #require(miss).description
        #expect(text.contains("`CASSETTE=once` records t(#2), which has no recording of its own yet"))
        #expect(
            text.contains("the file has other cases of the test (t(#1)): if the text of an argument differs"), "\(text)"
        )
    }
}
