import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A recording that is played through two stacks shows what each does with every request.
@Suite(.timeLimit(.minutes(3))) struct StackComparisonTests {
    let folder = TemporaryFolder()

    init() throws {
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

/// A comparison tells how the requests differ that leave two stacks, and shows no secret of them.
@Suite(.timeLimit(.minutes(3))) struct StackWireTests {
    let folder = TemporaryFolder()

    init() throws {
        try folder.write(
            """
            {"cassette": 1, "interactions": [
            {"request": {"method": "GET", "url": "https://api.example.com/feed"},
            "response": {"status": 200, "text": "news"}},
            {"request": {"method": "POST", "url": "https://api.example.com/token"},
            "response": {"status": 200, "text": "done"}}
            ]}
            """, to: "feed.json")
    }

    private static let plain: StackComparison.Stack = { base, _ in base }

    /// A stack with one layer, which changes each request.
    private static func changing(_ change: @escaping @Sendable (inout Request) -> Void) -> StackComparison.Stack {
        { base, _ in
            base.intercepting { request, base in
                var request = request
                change(&request)
                return try await base.send(request)
            }
        }
    }

    private func compared(
        fields: HTTPFields = [:], through stacks: KeyValuePairs<String, StackComparison.Stack>
    ) async throws -> StackComparison {
        try await StackComparison(
            playing: folder.path("feed.json"), requests: [.get("https://api.example.com/feed", fields: fields)],
            through: stacks)
    }

    /// The lines between the stacks and the sums.
    private func differences(in comparison: StackComparison) -> [String] {
        comparison.description.split(separator: "\n").prefix { $0 != "all requests" }
            .dropFirst(2 + comparison.stacks.count).map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test func `Fields, methods and URLs that differ are told, and repeats once`() async throws {
        let comparison = try await compared(
            fields: [.accept: "text/plain", .acceptLanguage: "de", .userAgent: "app"],
            through: [
                "plain": Self.plain, "equal": Self.plain,
                "other": Self.changing { request in
                    request.head.headerFields[.accept] = nil
                    request.head.headerFields[.acceptLanguage] = "fr"
                    request.head.headerFields[.acceptEncoding] = "gzip"
                },
                "posting": Self.changing { request in
                    request.head.method = .post
                    request.head.path = "/token"
                },
                "triple": { base, _ in
                    base.intercepting { request, base in
                        let request = request
                        for _ in 0..<2 { _ = try await base.send(request) }
                        return try await base.send(request)
                    }
                },
            ])
        let fields = "Accept, Accept-Language, User-Agent"
        #expect(
            differences(in: comparison) == [
                "other sends Accept-Encoding, plain does not", "plain sends Accept, other does not",
                "other sends another value of Accept-Language than plain",
                "posting sends POST https://api.example.com/token, plain sends GET https://api.example.com/feed",
                "triple also sends GET https://api.example.com/feed with \(fields), plain does not",
            ])
        let requests = comparison.rows[0].courses[2].requests
        #expect(requests.map(\.method) == ["GET"] && requests.map(\.url) == ["https://api.example.com/feed"])
        #expect(requests.map { $0.fields[.acceptEncoding] } == ["gzip"])
    }

    @Test func `A secret of one stack is hidden in what another sends without a mark`() async throws {
        let note = try #require(HTTPField.Name("X-Note"))
        let secret = "w4lnut-Harbour-9314"
        let comparison = try await compared(through: [
            "careless": Self.changing { request in
                request.head.path = "/feed/\(secret)"
                request.head.headerFields[note] = "seen \(secret)"
            },
            "signed": Self.changing { $0.head.headerFields[.authorization] = "Bearer \(secret)" },
        ])
        #expect(!comparison.description.contains(secret))
        #expect(comparison.description.contains("signed sends Authorization, careless does not"))
        let requests = try comparison.rows[0].courses.map { try #require($0.requests.first) }
        #expect(requests.map(\.url) == ["https://api.example.com/feed/__secret__", "https://api.example.com/feed"])
        #expect(requests[0].fields[note] == "seen __secret__")
        #expect(requests[1].fields[.authorization] == "Bearer __secret__")
    }

    @Test func `A declared item, a declared field and a token are hidden in every stack`() async throws {
        let note = try #require(HTTPField.Name("X-Note"))
        let token = "ghp_" + "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1o"
        let comparison = try await compared(through: [
            "careless": Self.changing { request in
                request.head.path = "/feed?blend=h4zel-Meadow"
                request.head.headerFields[note] = "plum"
                request.head.headerFields[.userAgent] = token
            },
            "declaring": Self.changing { request in
                request.head.path = "/feed?blend=m4ple-Meadow"
                request.head.headerFields[note] = "pear"
                request.options.secretQueryItems = ["blend"]
                request.options.secretFields = [note]
            },
        ])
        #expect(differences(in: comparison) == ["careless sends User-Agent, declaring does not"])
        let requests = comparison.rows[0].courses.flatMap(\.requests)
        let shown = requests.flatMap { request in [request.url] + request.fields.map(\.value) }.joined(separator: "\n")
        for secret in ["h4zel", "m4ple", "plum", "pear", token] {
            #expect(!shown.contains(secret))
            #expect(!comparison.description.contains(secret))
        }
    }
}
