import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A recording that is played through two stacks shows what each does with every request.
@Suite(.timeLimit(.minutes(3))) struct StackComparisonTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "GET", "url": "https://api.example.com/feed"},
            "response": {"status": 200, "headers": {"Cache-Control": "max-age=60",
            "Date": "Sun, 01 Nov 2026 10:00:00 GMT"}, "text": "news"}, "at": "2026-11-01"},
            {"request": {"method": "GET", "url": "https://api.example.com/feed"},
            "response": {"status": 200, "headers": {"Cache-Control": "max-age=60",
            "Date": "Sun, 01 Nov 2026 10:00:00 GMT"}, "text": "news"}, "at": "2026-11-01"},
            {"request": {"method": "GET", "url": "https://api.example.com/item?access_token=h1dden-value"},
            "response": {"status": 200, "headers": {"ETag": "\\"1\\"", "Cache-Control": "no-cache"}, "text": "item"}},
            {"request": {"method": "GET", "url": "https://api.example.com/item?access_token=h1dden-value"},
            "response": {"status": 200, "headers": {"ETag": "\\"1\\"", "Cache-Control": "no-cache"}, "text": "item"}},
            {"request": {"method": "GET", "url": "https://api.example.com/events"},
            "response": {"status": 200, "headers": {"Content-Type": "text/event-stream"},
            "text": ["data: 1", "", "data: 2", "", ""], "chunks": [[100, 9], [150, 9]]}},
            {"request": {"method": "POST", "url": "https://api.example.com/busy", "text": "body"},
            "response": {"status": 503, "text": "busy"}},
            {"request": {"method": "GET", "url": "https://api.example.com/lost"},
            "error": {"kind": "connectionLost", "after": "head"}}
            ]}
            """, to: "feed.json")
    }

    private func compared() async throws -> StackComparison {
        try await StackComparison(
            playing: folder.path("feed.json"),
            through: [
                "plain": { base, clock in base.retrying(clock: clock) },
                "cached": { base, clock in
                    base.retrying(clock: clock).caching(in: MemoryResponseStore(), clock: clock)
                },
            ])
    }

    @Test func `A comparison is no test, so the report of the run does not count it`() async throws {
        let report = CassetteReportFile(at: folder.path("report"), isPartial: false)
        _ = try await CassetteDefaults.$current.withValue(CassetteDefaults(report: report)) { try await compared() }
        #expect(try report.report().cassettes.isEmpty)
    }

    @Test func `Each request is compared by what left the stack, by bytes, hits and time`() async throws {
        let comparison = try await compared()
        #expect(comparison.stacks == ["plain", "cached"])
        let rows = comparison.rows
        #expect(rows.map { $0.courses.map(\.sent) }.prefix(5) == [[1, 1], [1, 0], [1, 1], [1, 1], [1, 1]])
        #expect(rows[1].courses.map(\.isHit) == [false, true])
        #expect(rows[1].courses.map(\.bytesReceived) == [4, 0])
        // The stored item is validated, and a server would answer with 304.
        #expect(rows[3].courses.map(\.bytesReceived) == [4, 0])
        #expect(rows[3].courses.map(\.outcome) == ["200", "200"])
        #expect(comparison.description.contains("\n   cached sends If-None-Match, plain does not\n"))
        #expect(rows[4].courses.map(\.time) == [.milliseconds(250), .milliseconds(250)])
        #expect(rows[5].courses.map(\.outcome) == ["503", "503"])
        #expect(rows[5].courses[0].bytesSent == 4 * rows[5].courses[0].sent)
        #expect(rows[6].courses.map(\.outcome) == ["connectionLost", "connectionLost"])
        #expect(rows[6].courses.allSatisfy { $0.sent > 1 && $0.time > .zero && $0.source == nil })
        #expect(rows.allSatisfy { $0.isSame })
        #expect(!comparison.description.contains("h1dden-value"))
    }

    @Test func `The description is a table that a person can read`() async throws {
        let comparison = try await StackComparison(
            playing: folder.path("feed.json"),
            requests: [.get("https://api.example.com/feed"), .get("https://api.example.com/feed")],
            through: [
                "plain": { base, _ in base },
                "cached": { base, clock in base.caching(in: MemoryResponseStore(), clock: clock) },
                "upper case": { base, _ in
                    base.intercepting { request, base in
                        var response = try await base.send(request)
                        response.body = "NEWS"
                        return response
                    }
                },
            ])
        #expect(
            comparison.description == """
                               outcome  from      sent  bytes out  bytes in  ms
                1  GET https://api.example.com/feed  (the answers differ)
                   plain       200      cassette     1          0         4   0
                   cached      200      cassette     1          0         4   0
                   upper case  200      cassette     1          0         0   0
                2  GET https://api.example.com/feed  (the answers differ)
                   plain       200      cassette     1          0         4   0
                   cached      200      cache        0          0         0   0
                   upper case  200      cassette     1          0         0   0
                all requests
                   plain                0 hits       2          0         8   0
                   cached               1 hit        1          0         4   0
                   upper case           0 hits       2          0         0   0
                """)
    }

    @Test func `Two comparisons of one recording are equal, and a request without a recording is told`() async throws {
        func compared() async throws -> StackComparison {
            try await StackComparison(
                playing: folder.path("feed.json"),
                requests: [.get("https://api.example.com/unknown"), .get("https://api.example.com/events")],
                through: ["plain": { base, _ in base }])
        }
        let comparison = try await compared()
        #expect(try await compared() == comparison)
        #expect(comparison.rows[0].courses[0].outcome == "no recording")
        #expect(comparison.rows[0].isSame)
    }

    @Test func `A comparison that is cancelled ends`() async throws {
        let task = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask { _ = try await compared() }
                try await group.waitForAll()
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
