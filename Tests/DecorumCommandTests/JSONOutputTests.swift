#if CommandLine && os(Linux)
import Decorum
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

struct JSONOutputTests {
    static let rows: [(name: String, arguments: [String], status: Int32)] = [
        ("stack-show", ["stack", "show", "small.json"], 0), ("stack-lint", ["stack", "lint", "unlimited.json"], 0),
        ("stack-bounds", ["stack", "bounds", "server"], 0),
        ("cassette-inspect", ["cassette", "inspect", Fixtures.url("cassettes/har-playwright/attached.har").path], 0),
        ("cassette-diff", ["cassette", "diff", "old.har", "new.har"], 1),
        ("cassette-verify", ["cassette", "verify", "old.har", "--against", "ORIGIN"], 1),
        ("cassette-status", ["cassette", "status", "old.har", "secret.har", "empty.har"], 1),
        ("cache-list", ["cache", "list", "CACHE"], 0), ("cache-stats", ["cache", "stats", "CACHE"], 0),
        ("cache-explain", ["cache", "explain", "CACHE", "https://a.example/stale"], 0),
        ("request", ["--urls-from", "urls", "--parallel", "1", "--print", "b", "--set", "baseURL=ORIGIN"], 4),
        ("doctor", ["doctor"], 69),
        ("simulate", ["simulate", "tool", "--clients", "3", "--scenario", "stop"], 0),
    ]

    static let files = [
        "urls": "/tea\n/none\n/away\n/a b", "empty.har": "", "small.json": #"{ "preset": "tool", "retries": false }"#,
        "unlimited.json": StackCommandTests.unlimited,
        "old.har": RecordingTests.archive(
            RecordingTests.interaction("/1", json: #"{"id":1}"#), RecordingTests.interaction("/2", json: "{}")),
        "new.har": RecordingTests.archive(RecordingTests.interaction("/1", json: #"{"id":"7","name":"b"}"#)),
        "secret.har": RecordingTests.archive(
            RecordingTests.interaction("/a", json: #"{"t":"\#(RecordingTests.token)"}"#)),
    ]

    @Test func `The JSON of each subcommand is that of its golden file`() async throws {
        let origin = try LoopbackOrigin()
        origin.route(.get, "/*", .init(fields: ["Content-Type": "application/json"], body: #"{"id":1}"#))
        origin.route(.get, "/none", .init(.notFound))
        origin.route(.get, "/away", .redirect(to: "/tea"))
        try await withFolder { folder in
            _ = try await CacheCommandTests.store(in: folder, at: Date())
            for row in Self.rows {
                let arguments = (row.arguments + ["--json-output"]).map {
                    $0.replacing("ORIGIN", with: origin.url).replacing("CACHE", with: folder.path)
                }
                let run = try await CommandRun(arguments, environment: ["SSL_CERT_FILE": "none.pem"], files: Self.files)
                let output = run.output.replacing(origin.url, with: "ORIGIN")
                    .replacing(/"(storedAt|usedAt|value|libcurl)":"[^"]*"/) { #""\#($0.output.1)":"…""# }
                    .replacing(/"(age|timeToLive|bytesOnDisk)":-?[0-9]+/) { #""\#($0.output.1)":0"# }
                    .replacing(/"timings":\{[^}]*\},/, with: "")
                    .replacing(/"(callID|duration|timeToHead|time|startedAt|start)":("[^"]*"|[0-9.e\-]+)/) {
                        #""\#($0.output.1)":0"#
                    }
                #expect(run.status == row.status, "\(row.name): \(run.talk)")
                try expectGolden(output, "\(row.name).json")
            }
        }
        origin.stop()
    }
}
#endif
