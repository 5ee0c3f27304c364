import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// The report of a whole test run: recorded, replayed, missed, outdated and unused interactions, and masked secrets.
@Suite(.timeLimit(.minutes(3))) struct CassetteReportTests {
    let folder = TemporaryFolder()
    let report: CassetteReportFile

    init() throws {
        report = CassetteReportFile(at: folder.path("report.json"), isPartial: false)
    }

    private func write(_ paths: [String], to name: String, day: String = "2026-11-01") throws {
        let file = URL(filePath: folder.path("Cassettes/FeedTests/\(name)"))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let interactions = paths.map { path in
            """
            {"request": {"method": "GET", "url": "https://api.example.com\(path)"},
            "response": {"status": 200, "text": "answer"}, "at": "\(day)"}
            """
        }
        let text = #"{"cassette": 1, "interactions": [\#(interactions.joined(separator: ",\n"))]}"#
        try Data(text.utf8).write(to: file)
    }

    /// A test with a cassette that sends requests for paths, and then passes or fails.
    private func test(
        _ name: String, _ paths: [String], mode: CassetteMode = .replay, rules: CassetteRules = CassetteRules(),
        into report: CassetteReportFile? = nil, fails: Bool = false
    ) async throws {
        try await CassetteDefaults.$current.withValue(CassetteDefaults(report: report ?? self.report)) {
            let cassette = try Cassette(
                at: folder.path("Cassettes/FeedTests/\(name)"), mode: mode, rules: rules,
                clock: VirtualClock(date: Date(timeIntervalSince1970: 1_796_000_000)))
            let stub = StubConnection { _ in
                Response(status: .ok, fields: [.contentType: "application/json"], body: #"{"token":"s3cr3t-v4lue-1"}"#)
            }
            let connection = CassetteConnection(cassette, recording: stub)
            for path in paths { _ = try? await connection.send(.get("https://api.example.com" + path)) }
            if !fails { try? await cassette.finish() }
        }
    }

    /// The paths in a report are those from the working directory, or whole ones.
    private func name(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }

    @Test func `A run is reported with all that its tests did, as a value, as JSON and as text`() async throws {
        try write(["/a", "/b", "/c"], to: "shared.json")
        try write(["/old"], to: "old.json", day: "2020-01-01")
        try write(["/x"], to: "forgotten.json")
        var rules = CassetteRules(unused: .allow)
        rules.expiry = .init(after: .seconds(86_400), .warn)
        rules.reportReplacements = nil
        try await test("shared.json", ["/a", "/missing"], rules: CassetteRules(unused: .allow))
        try await test("shared.json", ["/a", "/c"], rules: CassetteRules(unused: .allow))
        try await test("old.json", ["/old"], rules: rules)
        try await test("new.json", ["/login", "/me"], mode: .append, rules: rules)
        await #expect(throws: CassetteError.self) { try await test("gone.json", ["/a"], mode: .replay) }

        let found = try report.report()
        #expect(found.cassettes.map { name($0.file) } == ["gone.json", "new.json", "old.json", "shared.json"])
        let shared = try #require(found.cassettes.last)
        #expect(shared.opened == 2)
        #expect(shared.finished == 1)
        #expect(shared.replayed == 3)
        #expect(shared.missed == ["GET https://api.example.com/missing"])
        // The test with the miss has failed, so it may have ended before it used all recordings.
        #expect(found.cassettes.flatMap(\.unused).isEmpty)
        #expect(found.cassettes[2].outdated.map(\.request) == ["GET https://api.example.com/old"])
        #expect(found.cassettes[1].recorded == 2)
        #expect(found.cassettes[1].masked == ["token in JSON: __token-1__"])
        #expect(found.unopened.map(name) == ["forgotten.json"])
        #expect(found.cassettes[0].isMissing && found.cassettes[0].opened == 1 && found.cassettes[0].finished == 0)

        let text = try folder.text("report.txt")
        #expect(
            text.hasPrefix(
                "4 cassettes, opened 5 times: 2 recorded, 4 replayed, 0 verified, 1 missed, 0 changed, 1 outdated, 0 unused, 1 secrets"
            ))
        #expect(text.contains("  missed    GET https://api.example.com/missing\n"))
        #expect(text.contains("  1 of 2 tests failed\n") && text.contains("  its test failed\n  does not exist\n"))
        #expect(text.contains("  outdated  interaction 1  GET https://api.example.com/old  (line 1)\n"))
        #expect(text.contains("\nopened by no test:\n"))
        let json = try JSONSerialization.jsonObject(with: Data(contentsOf: report.json)) as? [String: Any]
        #expect((json?["unopened"] as? [String])?.count == 1)
        for output in [text, try folder.text("report.json")] { #expect(!output.contains("s3cr3t")) }
    }

    @Test func `A run tells what was recorded once, and what was verified`() async throws {
        let rules = CassetteRules.silent
        try await test("new.json", ["/a", "/b"], mode: .once, rules: rules)
        try await test("added.json", ["/a"], mode: .append, rules: rules)
        #expect(try folder.text("report.txt").contains("new.json (once): 2 recorded, 0 replayed\n"))
        #expect(try folder.text("report.txt").contains("added.json (append): 1 recorded, 0 replayed\n"))
        let verifying = CassetteReportFile(at: folder.path("verified.json"), isPartial: false)
        try await test("new.json", ["/a", "/b"], mode: .verify, rules: rules, into: verifying)
        let text = try folder.text("verified.txt")
        #expect(text.hasPrefix("1 cassette, opened once: 0 recorded, 0 replayed, 2 verified, 0 missed"), "\(text)")
        #expect(text.contains("new.json (verify): 2 verified\n"), "\(text)")
    }

    @Test func `A recording counts as unused if no test of the whole run has played it`() async throws {
        try write(["/a", "/b", "/c", "/d"], to: "shared.json")
        let rules = CassetteRules(unused: .allow)
        try await test("shared.json", ["/a", "/d"], rules: rules)
        try await test("shared.json", ["/b", "/a"], rules: rules)
        let found = try report.report()
        #expect(found.cassettes.map { $0.unused.map(\.number) } == [[3]])
        let text = try folder.text("report.txt")
        #expect(text.contains("  unused    interaction 3  GET https://api.example.com/c  (line 5)\n"), "\(text)")
    }

    @Test func `A file on which a test has recorded is reported without the lines of the old one`() async throws {
        try write(["/a", "/b"], to: "feed.json", day: "2020-01-01")
        var rules = CassetteRules(unused: .allow)
        rules.expiry = .init(after: .seconds(86_400), .warn)
        rules.reportReplacements = nil
        try await test("feed.json", ["/a"], rules: rules)
        #expect(try report.report().cassettes.first?.outdated.map(\.line) == [1])
        try await test("feed.json", ["/a", "/new"], mode: .append, rules: rules)
        let found = try #require(try report.report().cassettes.first)
        #expect(found.recorded == 1)
        #expect(found.outdated.map(\.request) == ["GET https://api.example.com/a"])
        #expect(found.outdated.map(\.line) == [nil])
        #expect(found.unused.map(\.line) == [nil])
        #expect(!(try folder.text("report.txt").contains("(line ")))
    }

    @Test func `A filtered run tells that it is one, and lists nothing as unused`() async throws {
        try write(["/a", "/b"], to: "feed.json")
        try write(["/x"], to: "forgotten.json")
        let partial = CassetteReportFile(at: folder.path("partial"), isPartial: true)
        try await test("feed.json", ["/a"], rules: CassetteRules(unused: .allow), into: partial)
        let found = try partial.report()
        #expect(found.isPartial)
        #expect(found.cassettes.flatMap(\.unused).isEmpty)
        #expect(found.unopened.isEmpty)
        #expect(try folder.text("partial.txt").contains("Only some of the tests ran"))
    }

    @Test func `Tests that run at the same time lose nothing of each other`() async throws {
        for number in 0..<5 { try write(["/a", "/b"], to: "feed-\(number).json") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try await test(
                        "feed-\(number % 5).json", [number % 2 == 0 ? "/a" : "/b"], rules: CassetteRules(unused: .allow)
                    )
                }
            }
            try await group.waitForAll()
        }
        let found = try report.report()
        #expect(found.cassettes.map(\.opened) == [8, 8, 8, 8, 8])
        #expect(found.cassettes.map(\.finished) == [8, 8, 8, 8, 8])
        #expect(found.cassettes.map(\.replayed) == [8, 8, 8, 8, 8])
        #expect(found.cassettes.flatMap(\.unused).isEmpty)
    }

    @Test func `The folder of content beside a cassette and hidden files are no recordings`() async throws {
        try write(["/a"], to: "feed.json")
        let files = URL(filePath: folder.path("Cassettes/FeedTests/feed.tape"))
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        for name in ["feed.tape/0123.json", ".hidden.json", "README.md", "other.har"] {
            try Data().write(to: URL(filePath: folder.path("Cassettes/FeedTests/" + name)))
        }
        try await test("feed.json", ["/a"])
        #expect(try report.report().unopened.map(name) == ["other.har"])
    }

    @Test func `A report that cannot be written fails no test, and one that is damaged begins anew`() async throws {
        try write(["/a"], to: "feed.json")
        try folder.write("no folder", to: "file")
        try await test("feed.json", ["/a"], into: CassetteReportFile(at: folder.path("file/report"), isPartial: false))
        try folder.write("{", to: "report.json")
        #expect(throws: (any Error).self) { try report.report() }
        try await test("feed.json", ["/a"])
        #expect(try report.report().cassettes.map(\.replayed) == [1])
    }

    @Test func `The environment names the report`() {
        #expect(CassetteReportFile.current(in: [:]) == nil)
        #expect(CassetteReportFile.current(in: ["CASSETTE_REPORT": ""]) == nil)
        let named = CassetteReportFile.current(in: ["CASSETTE_REPORT": "/tmp/cassettes.json"])
        #expect(named?.json.path == "/tmp/cassettes.json")
        #expect(named?.text.path == "/tmp/cassettes.txt")
    }

    @Test func `The next run begins a new report, and another process of the same run adds to it`() throws {
        func file(of run: String) -> CassetteReportFile {
            CassetteReportFile(at: folder.path("report"), isPartial: false, run: run)
        }
        file(of: "1").add(.init(file: "a.json", modes: [.replay], opened: 1))
        file(of: "1").add(.init(file: "b.json", modes: [.replay], opened: 1))
        #expect(try file(of: "1").report().cassettes.map(\.file) == ["a.json", "b.json"])
        file(of: "2").add(.init(file: "c.json", modes: [.append], opened: 1))
        #expect(try file(of: "2").report().cassettes.map(\.file) == ["c.json"])
    }
}
