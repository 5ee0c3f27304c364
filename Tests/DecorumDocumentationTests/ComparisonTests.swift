import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// The page “Comparing clients” has the lines that its listings have, and their requests are those of the tasks.
@Suite(.timeLimit(.minutes(3))) struct ComparisonTests {
    private static let page = ListingTests.root
        .appending(path: "Sources/DecorumEndpoints/DecorumEndpoints.docc/comparing-clients.md")

    /// The number of lines of each task in a file: those between its mark and the next end that are not blank.
    private func counts(_ file: URL) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        var task: String?
        for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n") {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.hasPrefix("// task: ") {
                task = String(line.dropFirst(9))
            } else if line == "// end" {
                task = nil
            } else if let task, !line.isEmpty {
                counts[task, default: 0] += 1
            }
        }
        return counts
    }

    @Test func `The table has the lines of the listings`() throws {
        let clients = try [
            Fixtures.url("endpoints/comparison/urlsession.txt"), Fixtures.url("endpoints/comparison/alamofire.txt"),
            Fixtures.url("endpoints/comparison/get.txt"),
            ListingTests.root.appending(path: "Tests/DecorumDocumentationTests/ComparisonListings.swift"),
        ].map(counts)
        let table = try String(contentsOf: Self.page, encoding: .utf8).components(separatedBy: "\n")
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
            .filter { $0.count == 5 && Int($0[1]) != nil }
        #expect(table.count == 12)
        for row in table {
            #expect(row.dropFirst().map { Int($0) } == clients.map { $0[row[0]] }, "\(row[0])")
        }
    }

    private struct Reply: Sendable {
        let stub: StubConnection

        init(_ responses: Response...) {
            stub = StubConnection(answers: responses.map { response in { _ in response } }) { _ in
                Response(status: .noContent)
            }
        }

        func listings() throws -> ComparisonListings {
            ComparisonListings(
                connection: try stub.calling(
                    API(problem: ComparisonListings.Failure.self), at: "https://api.example.com/v1/"))
        }
    }

    private let item = ComparisonListings.Item(id: 1, title: "one")
    private let json = Response(status: .ok, fields: [.eTag: #""1""#], body: #"{"id": 1, "title": "one"}"#)

    @Test func `Requests are those of the tasks`() async throws {
        let list = Response(status: .ok, body: #"[{"id": 1, "title": "one"}]"#)
        let reply = Reply(json, json, list, json)
        let listings = try reply.listings()
        #expect(try await listings.getting() == item)
        #expect(try await listings.posting(item) == item)
        #expect(try await listings.searching("a b&c+d") == [item])
        #expect(try await listings.named("a/b?c") == item)
        await #expect(throws: InvalidRequestError.self) { try await listings.named("../admin") }
        #expect(
            reply.stub.requests.map { $0.url?.absoluteString } == [
                "https://api.example.com/v1/items/latest", "https://api.example.com/v1/items",
                "https://api.example.com/v1/search?q=a+b%26c%2Bd&page=2",
                "https://api.example.com/v1/names/a%2Fb%3Fc",
            ])
    }
}
