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

    @Test(arguments: [
        ("3F2B8C1E-5D4A-4B6F-9E7D-2A1C0B9F8E7D", true), ("<Feed: 0x600002f4>", true),
        ("2026-11-23 14:06:32 +0000", true),
        ("de", false), ("Feed(page: 2)", false), ("a decade ago", false),
    ])
    func `A text that looks random is one that differs in each run`(text: String, isLikely: Bool) {
        #expect(RandomValue.isLikely(in: text) == isLikely)
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
        #expect(text.contains("fix: t ran with new cases, and without some recorded ones: delete"), "\(text)")
        #expect(text.contains("conform its type to `CustomTestStringConvertible`"), "\(text)")
    }

    @Test func `The lines of replaced cases are those of the file that the run has written, the last one first`()
        async throws
    {
        _ = try await runCases(.once, ["t(#1)", "t(#2)", "other"])
        // The new cases stand before the old ones, which has other lines then.
        let text = try #require(try await runCases(.once, ["t(#0)", "t(#00)", "other"]).first)
        let lines = try folder.text("shared.json").split(separator: "\n", omittingEmptySubsequences: false)
        let told = text.matches(of: /\(line (\d+), recorded by (.+)\)/).map { (Int($0.1), String($0.2)) }
        #expect(told.map(\.1) == ["t(#2)", "t(#1)"])
        for (line, test) in told {
            let line = try #require(line)
            // An interaction begins at its line, and ends with the tests that have recorded it.
            let rest = lines[(line - 1)...]
            #expect(rest.first?.contains("{") == true, "\(text)")
            let end = try #require(rest.first { $0.contains("\"tests\"") })
            #expect(end.contains("\"\(test)\""), "\(line): \(end)")
        }
        #expect(text.contains("delete the recordings of cases that no longer exist, the last one first; if"), "\(text)")
    }

    @Test func `Recordings of a test that did not run are to be deleted, since no new recording removes them`()
        async throws
    {
        #expect(try await runCases(.once, ["gone", "other"]).isEmpty)
        let removed = try #require(try await runCases(.replay, ["other"]).first)
        #expect(removed.contains("GET https://example.com/a  (line 4, recorded by gone)"), "\(removed)")
        #expect(
            removed.contains(
                "\nfix: gone did not run; if no such test exists any more, delete its interactions at these lines, the last "
                    + "one first, or rename it in the file; or, if recordings may stay unused, set"), "\(removed)")
        // A run that records tells the same of the file that it has written.
        let renamed = try #require(try await runCases(.once, ["a new name", "other"]).first)
        #expect(
            renamed.contains(
                "1 recorded interaction belongs to no test that has run:\n  GET https://example.com/a  (line 16, "))
        #expect(renamed.contains("recorded by gone)\nfix: gone did not run; if no such"), "\(renamed)")
        let rewritten = try #require(try await runCases(.rewrite, ["other"]).first)
        #expect(
            rewritten.contains("run:\n  GET https://example.com/a  (line 16, recorded by gone)\n  GET "),
            "\(rewritten)")
        #expect(rewritten.contains("\nfix: a new name, gone did not run; if"), "\(rewritten)")
        #expect(try await runCases(.rewrite, ["other"], isPartial: true).isEmpty)
    }

    @Test func `A case that is added, other tests that a filter leaves out, and rules that allow it report nothing`()
        async throws
    {
        _ = try await runCases(.once, ["t(#1)", "t(#2)", "other"])
        #expect(try await runCases(.once, ["t(#1)", "t(#2)", "t(#3)", "other"]).isEmpty)
        #expect(try await runCases(.once, ["t(#1)", "t(#2)", "t(#3)", "t(#4)"], isPartial: true).isEmpty)
        #expect(try await runCases(.once, ["t(#5)"], rules: CassetteRules(unused: .allow)).isEmpty)
    }

    @Test func `Cases that are others in each run are told where a filter selects their test`() async throws {
        _ = try await runCases(.once, ["t(#1)", "other"])
        let text = try #require(try await runCases(.once, ["t(#2)"], isPartial: true).first)
        #expect(text.contains("fix: t ran with new cases, and without some recorded ones: delete"), "\(text)")
    }

    @Test(arguments: [true, false]) func `The miss of a case that is new in replay names the remedy`(
        isChanging: Bool
    ) async throws {
        _ = try await runCases(.once, ["t(#1)"])
        let cassette = try CassetteDefaults(shared: SharedCassettes(isPartial: true)).cassette(
            at: folder.path("shared.json"), rules: nil, mode: .replay, clock: SystemClock(), isShared: true,
            test: "t(#2)", hasChangingArguments: isChanging)
        let miss = await #expect(throws: CassetteMissError.self) {
            try await CassetteConnection(cassette).send(.get("https://example.com/a"))
        }
        let text = try #require(miss).description
        #expect(
            text.contains(
                "fix: run t(#2) without `CI`, or with `CASSETTE=once`, to record it"), "\(text)")
        #expect(
            text.contains("(t(#1)), so if the text of an argument differs in each run, conform") == isChanging,
            "\(text)")
    }
}
