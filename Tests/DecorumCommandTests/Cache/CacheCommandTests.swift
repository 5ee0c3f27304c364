#if CommandLine
import ArgumentParser
import Decorum
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCommand

struct CacheCommandTests {
    static let now = Date(timeIntervalSince1970: 1_800_000_000)

    typealias Stored = (response: StoredResponse, key: ResponseKey)

    static func stored(_ url: String, for principal: String?, _ control: String, at date: Date) throws -> Stored {
        var request = try Request.get(url)
        request.options.principal = principal.map { Principal($0) }
        let head = HTTPResponse(status: .ok, headerFields: [.cacheControl: control, .eTag: #""1""#])
        let body = Body(Data("content".utf8))
        let response = StoredResponse(head: head, body: body, request: request.head, date: date)
        return (response, try #require(ResponseKey(request)))
    }

    /// Fills a store as a cache would.
    static func store(in folder: URL, at now: Date = now) async throws -> FileResponseStore {
        let store = FileResponseStore(directory: folder)
        let rows: [(url: String, principal: String?, age: Double, control: String)] = [
            ("https://a.example/fresh", nil, 10, "max-age=60"),
            ("https://a.example/stale", nil, 100, "max-age=60, stale-if-error=600"),
            ("https://b.example/user", "ada", 200_000, "max-age=60, must-revalidate"),
        ]
        for row in rows {
            let (response, key) = try Self.stored(row.url, for: row.principal, row.control, at: now - row.age)
            await store.store(response, for: key)
        }
        return store
    }

    static let filters: [(arguments: [String], paths: [String])] = [
        ([], ["/fresh", "/stale", "/user"]), (["--origin", "https://a.example"], ["/fresh", "/stale"]),
        (["--url", "https://A.example:443/fresh"], ["/fresh"]), (["--principal", "ada"], ["/user"]),
        (["--older-than", "1"], ["/user"]), (["--older-than", "1", "--origin", "https://a.example"], []),
    ]

    @Test func `Options choose responses, and a line tells how long each is fresh or stale, and for whom`() async throws
    {
        try await withFolder { folder in
            let store = try await Self.store(in: folder)
            for row in Self.filters {
                let filter = try CacheListCommand.parse(["folder"] + row.arguments).filter
                let entries = try await filter.entries(in: store, at: Self.now)
                #expect(entries.map { "\($0.key.uri)".suffix(6).drop { $0 != "/" } }.map(String.init) == row.paths)
                guard row.arguments.isEmpty else { continue }
                #expect(
                    entries.map { CacheArgument.line(of: $0, at: Self.now) } == [
                        "GET https://a.example/fresh  200, 7 bytes, fresh for 50 s",
                        "GET https://a.example/stale  200, 7 bytes, stale for 40 s",
                        "GET https://b.example/user  200, 7 bytes, stale for 199940 s, for ada",
                    ])
            }
        }
    }

    static let ask = "forwards: asks whether a stored response is current; not used: "
    static let none = "forwards: nothing is stored"
    static let requests: [(arguments: [String], words: String)] = [
        (["https://a.example/fresh"], "answers: with a response that is fresh for 50 s"),
        (
            ["https://a.example/fresh", "-H", "Cache-Control: no-cache"],
            ask + "the request does not accept the stored response (RFC 9111, 5.2.1)"
        ),
        (["https://a.example/stale"], ask + "the stored response is stale (RFC 9111, 4.2)"),
        (["https://a.example/other"], none), (["https://b.example/user"], none),
        (["https://b.example/user", "--principal", "ada"], ask + "the stored response is stale (RFC 9111, 4.2)"),
    ]

    @Test func `A decision is told with its rule, and changes nothing`() async throws {
        try await withFolder { folder in
            let store = try await Self.store(in: folder)
            for row in Self.requests {
                let command = try CacheExplainCommand.parse(["folder"] + row.arguments)
                let decision = try await command.decisions(in: store, clock: VirtualClock(date: Self.now)).first
                #expect(decision.map { "\($0.kind): \($0.words)" } == row.words, "\(row.arguments)")
            }
            #expect(await store.entries().count == 3)
            let command = try CacheExplainCommand.parse(["folder", "https://a.example/fresh", "--stack", "tool"])
            await #expect(throws: CommandFailure.self) { try await command.decisions(in: store) }
        }
    }

    @Test func `A folder that is no cache stays as it is`() async throws {
        for arguments in [["list", "."], ["purge", "none", "--all"], ["stats", "input"]] {
            let run = try await CommandRun(["cache"] + arguments, files: ["removed": ""])
            #expect(run.status == 66 && run.talk == "decorum: “\(arguments[1])” is no folder of a cache.\n")
            #expect(!FileManager.default.fileExists(atPath: run.folder.appending(path: "unfinished").path))
        }
        for options in [[], ["--all", "--principal", "ada"], ["--older-than=-1"]] {
            #expect(throws: (any Error).self) { try CachePurgeCommand.parse(["folder"] + options) }
        }
    }

    @Test func `Purging removes what the options name, and nothing else`() async throws {
        try await withFolder { folder in
            let store = try await Self.store(in: folder)
            let rows = [
                (["--url", "https://a.example/fresh"], ["https://a.example/stale", "https://b.example/user"]),
                (["--principal", "ada"], ["https://a.example/stale"]), (["--all"], []),
            ]
            for (options, left) in rows {
                let run = try await CommandRun(["cache", "purge", folder.path] + options)
                #expect(run.status == 0 && run.talk == "Removed 1 response.\n")
                #expect(await store.entries().map { "\($0.key.uri)" }.sorted() == left)
            }
        }
    }

    @Test func `A response is shown with its fields, and its content is written`() async throws {
        try await withFolder { folder in
            _ = try await Self.store(in: folder)
            let run = try await CommandRun(["cache", "show", folder.path, "https://a.example/stale", "-o", "content"])
            #expect(run.status == 0 && run.output.contains("\n  Cache-Control: max-age=60, stale-if-error=600\n"))
            #expect(try run.file("content") == "content")
            #expect(try await CommandRun(["cache", "show", folder.path, "https://a.example/none"]).status == 11)
        }
    }

    @Test func `A cache is listed and purged while another process writes it`() async throws {
        try await withFolder { folder in
            let store = try await Self.store(in: folder)
            let writer = Task {
                for number in 0... where !Task.isCancelled {
                    let url = "https://a.example/\(number % 50)"
                    let (response, key) = try Self.stored(url, for: nil, "max-age=60", at: Self.now)
                    await store.store(response, for: key)
                    if Task.isCancelled { return number }
                }
                return 0
            }
            for arguments in [["list"], ["stats"], ["purge", "--origin", "https://a.example"], ["list"]] {
                let run = try await CommandRun(["cache", arguments[0], folder.path] + arguments.dropFirst())
                #expect(run.status == 0, "\(run.talk)")
                guard arguments == ["list"] else { continue }
                let lines = run.output.split(separator: "\n")
                #expect(lines.allSatisfy { $0.contains("  200, 7 bytes, ") })
                #expect(lines.last?.contains("https://b.example/user") == true)
            }
            writer.cancel()
            #expect(try await writer.value > 0)
        }
    }
}
#endif
