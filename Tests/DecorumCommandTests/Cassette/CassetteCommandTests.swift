#if CommandLine
import ArgumentParser
import Decorum
import DecorumArchive
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

struct CassetteCommandTests {
    static let archive = Fixtures.url("cassettes/har-playwright/attached.har").path

    @Test func `A list has a line for each interaction, and one for the file`() async throws {
        let lines = try await CommandRun(["cassette", "inspect", Self.archive]).output.split(separator: "\n")
        #expect(lines.count == 3 && lines[0] == "HAR, 2 interactions")
        #expect(lines[1] == "1  GET http://127.0.0.1:53293/page  200, text/html, 60 bytes, 2026-11-22")
    }

    @Test(arguments: [
        ["redact", "a.json", "--field", "a b"], ["merge", "a.json", "b.json"], ["status"],
        ["status", "a.json", "--older-than=-1"],
    ])
    func `Options that name nothing are refused`(arguments: [String]) {
        #expect(throws: (any Error).self) { try DecorumCommand.parseAsRoot(["cassette"] + arguments) }
    }

    @Test func `A status tells of age, and what no test has used`() async throws {
        var old = RecordingTests.interaction("/a", json: "{}")
        old.recordedAt = Date(timeIntervalSince1970: 1_700_000_000)
        let report = #"""
            {"isPartial": false, "run": "1", "unopened": [], "cassettes": [{"file": "a.har", "modes": ["replay"], "opened": 1,
            "finished": 1, "isMissing": false, "recorded": 0, "replayed": 0, "verified": 0, "missed": [], "changed": [],
            "outdated": [], "masked": [], "unused": [{"number": 1, "request": "GET /a", "tests": []}]}]}
            """#
        let run = try await CommandRun(
            ["cassette", "status", "./a.har", "b.yml", "--older-than", "1", "--report", "used"],
            files: ["a.har": RecordingTests.archive(old), "b.yml": "", "used": report])
        #expect(
            run.output == """
                ./a.har: recorded on 2023-11-14
                ./a.har: no test has sent GET /a
                b.yml: b.yml cannot be imported: it is empty.
                b.yml: no test has opened it

                """)
    }

    @Test func `The recordings in a folder are its files with such endings, or else its cassettes`() async throws {
        try await withFolder { folder in
            let suite = folder.appending(path: "Suite/Cassettes")
            try FileManager.default.createDirectory(at: suite, withIntermediateDirectories: true)
            for (paths, count) in [(["a.har", "b.zz", "c.txt"], 2), (["Suite/Cassettes/d.json"], 1)] {
                for path in paths { try Data().write(to: folder.appending(path: path)) }
                let files = paths.prefix(count).map { folder.appending(path: $0).path }
                #expect(try CassetteStatusCommand.recordings(at: folder.path) == files)
            }
        }
    }

    @Test func `Verifying has the status 1 for a server that has changed, and sends no unsafe request`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/1", .init(fields: ["Content-Type": "application/json"], body: #"{"id":1}"#))
        var post = RecordingTests.interaction("/2", json: "{}")
        post.request.method = "POST"
        let archive = RecordingTests.archive(RecordingTests.interaction("/1", json: #"{"id":7}"#), post)
        func verify() async throws -> CommandRun {
            try await CommandRun(
                ["cassette", "verify", "a.har", "--against", origin.url, "--ignore-query", "ts"],
                environment: ["CASSETTE_REPORT": "report"], files: ["a.har": archive])
        }

        let same = try await verify()
        #expect(same.status == 0 && same.output == "No differences.\n")
        #expect(same.talk == "Not sent: POST https://api.example.com/2\n")
        #expect(origin.requests.map(\.target) == ["/1"])

        origin.route(.get, "/1", .init(fields: ["Content-Type": "application/json"], body: #"{"name":"a"}"#))
        let changed = try await verify()
        #expect(changed.status == 1)
        #expect(changed.output.hasSuffix("  $.id  is missing: was a number\n  $.name  is new: a string\n"))
        #expect(!FileManager.default.fileExists(atPath: changed.folder.appending(path: "report.json").path))

        origin.stop()
        #expect(try await verify().status == 7)
    }
}
#endif
