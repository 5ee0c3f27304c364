import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// A comparison tells how the requests differ that leave two stacks, and shows no secret of them.
@Suite(.timeLimit(.minutes(3))) struct StackWireTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
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

    /// A stack with one layer, which sends each request twice and changes the second one.
    private static func repeating(_ change: @escaping @Sendable (inout Request) -> Void) -> StackComparison.Stack {
        { base, _ in
            base.intercepting { request, base in
                var request = request
                _ = try await base.send(request)
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

    /// The lines between those of the stacks and the sums.
    private func differences(in comparison: StackComparison) -> [String] {
        comparison.description.split(separator: "\n").prefix { $0 != "all requests" }
            .dropFirst(2 + comparison.stacks.count).map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test func `A field that a layer adds is named`() async throws {
        let comparison = try await compared(through: [
            "plain": Self.plain, "coding": Self.changing { $0.head.headerFields[.acceptEncoding] = "gzip" },
        ])
        #expect(differences(in: comparison) == ["coding sends Accept-Encoding, plain does not"])
        let requests = comparison.rows[0].courses.map(\.requests)
        #expect(requests.map { $0.map(\.method) } == [["GET"], ["GET"]])
        #expect(requests.map { $0.map(\.url) } == [["https://api.example.com/feed"], ["https://api.example.com/feed"]])
        #expect(requests.map { $0.map { $0.fields[.acceptEncoding] } } == [[nil], ["gzip"]])
    }

    @Test func `A field that a layer drops, and one whose value it changes, are named`() async throws {
        let comparison = try await compared(
            fields: [.accept: "text/plain", .acceptLanguage: "de", .userAgent: "app"],
            through: [
                "plain": Self.plain, "equal": Self.plain,
                "other": Self.changing { request in
                    request.head.headerFields[.accept] = nil
                    request.head.headerFields[.acceptLanguage] = "fr"
                },
            ])
        #expect(
            differences(in: comparison) == [
                "plain sends Accept, other does not", "other sends another value of Accept-Language than plain",
            ])
    }

    @Test func `Another method and another URL are told`() async throws {
        let comparison = try await compared(through: [
            "plain": Self.plain,
            "other": Self.changing { request in
                request.head.method = .post
                request.head.path = "/token"
            },
        ])
        #expect(
            differences(in: comparison) == [
                "other sends POST https://api.example.com/token, plain sends GET https://api.example.com/feed"
            ])
    }

    @Test func `A request that a layer sends first does not hide that of the caller`() async throws {
        let comparison = try await compared(
            fields: [.accept: "text/plain"],
            through: [
                "plain": Self.plain,
                "signed": { base, _ in
                    base.intercepting { request, base in
                        var request = request
                        _ = try await base.send(Request(.post, "https://api.example.com/token"))
                        request.head.headerFields[.authorization] = "Bearer w4lnut-Harbour-9314"
                        request.head.headerFields[.accept] = nil
                        return try await base.send(request)
                    }
                },
            ])
        #expect(
            comparison.description == """
                           outcome  from      sent  bytes out  bytes in  ms
                1  GET https://api.example.com/feed
                   plain   200      cassette     1          0         4   0
                   signed  200      cassette     2          0         4   0
                   signed sends Authorization, plain does not
                   plain sends Accept, signed does not
                   signed also sends POST https://api.example.com/token, plain does not
                all requests
                   plain            0 hits       1          0         4   0
                   signed           0 hits       2          0         4   0
                """)
        #expect(comparison.rows[0].courses[1].requests.map(\.method) == ["POST", "GET"])
    }

    @Test func `Of several requests, the one that differs is told`() async throws {
        let comparison = try await compared(through: [
            "twice": Self.repeating { _ in },
            "asking": Self.repeating { $0.head.headerFields[.accept] = "text/plain" },
            "plain": Self.plain,
        ])
        #expect(
            differences(in: comparison) == [
                "asking sends Accept, twice does not",
                "twice also sends GET https://api.example.com/feed, plain does not",
            ])
    }

    @Test func `A request that is repeated has one line, with its fields`() async throws {
        let comparison = try await compared(
            fields: [.accept: "text/plain"],
            through: [
                "plain": Self.plain,
                "triple": { base, _ in
                    base.intercepting { request, base in
                        let request = request
                        _ = try await base.send(request)
                        _ = try await base.send(request)
                        return try await base.send(request)
                    }
                },
            ])
        #expect(
            differences(in: comparison) == [
                "triple also sends GET https://api.example.com/feed with Accept, plain does not"
            ])
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
