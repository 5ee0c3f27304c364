import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The examples of RFC 8288, and links that are no URL.
@Suite struct LinkTests {
    struct Row: Decodable, Sendable, CustomTestStringConvertible {
        let note: String
        let field: String
        let relation: String
        let url: String?

        var testDescription: String { "\(note): \(relation)" }
    }

    /// A server with a first page that has a field `Link`, and further pages without.
    private func stub(_ link: String, url: String? = "http://example.com/TheBook/chapter3") -> StubConnection {
        let first: StubConnection.Answer = { _ in
            var response = Response(status: .ok, body: "[1]")
            if let name = HTTPField.Name("Link") { response.head.headerFields[name] = link }
            response.metadata.url = url.flatMap { URL(string: $0) }
            return response
        }
        return StubConnection(answers: [first]) { _ in Response(status: .ok, body: "[2]") }
    }

    private let list = Endpoint<[Int]>.get("TheBook/chapter3")

    @Test(arguments: try Fixtures.rows("endpoints/links.json", of: Row.self))
    func `A link leads to the next page`(row: Row) async throws {
        let stub = stub(row.field)
        let others: Set = [try Origin("http://example.org"), try Origin("https://example.org")]
        var count = 0
        for try await _ in stub.pages(of: list, by: .link(row.relation), allowing: others) { count += 1 }
        #expect(stub.requests.dropFirst().map { $0.url?.absoluteString } == (row.url.map { [$0] } ?? []))
        #expect(count == stub.requests.count)
    }

    @Test(arguments: [
        "http://[::1/list", "https://", "//", "mailto:ann@example.com", "https://user:secret@example.com/2",
        "http://example.com:99999/",
    ])
    func `A link that is no URL of a page is an error, and no end of the list`(reference: String) async throws {
        let stub = stub("<\(reference)>; rel=\"next\"")
        var numbers: [Int] = []
        let error = await #expect(throws: PageError.self) {
            for try await number in stub.elements(of: list) { numbers.append(number) }
        }
        #expect(numbers == [1])
        #expect(error?.reason == .url && error?.pageCount == 1)
        #expect(error?.description.contains("secret") == false)
        #expect(stub.requests.count == 1)
    }

    @Test func `A relative link without a URL to resolve it against follows the request before`() async throws {
        let stub = stub("</TheBook/chapter4>; rel=next", url: nil)
        for try await _ in stub.pages(of: list) {}
        #expect(stub.requests.map(\.head.path) == ["TheBook/chapter3", "/TheBook/chapter4"])
    }

    @Test func `Random fields lead to one page, to an error or to the end, and never to another origin`() async throws {
        let generator = SeededGenerator(seed: 8288)
        let pieces = [
            "<", ">", ";", ",", "=", "\"", "\\", " ", "\t", "rel", "next", "prev", "anchor", "title*", "/2", "?page=2",
            "//evil.example", "http:", "é", "..", "#x", "%zz",
        ]
        var counts: [String: Int] = [:]
        for _ in 0..<4000 {
            let random = (0..<10).map { _ in pieces[Int(generator.next() % UInt64(pieces.count))] }.joined()
            let stub = stub(generator.next() % 2 == 0 ? random : "<\(random)>; rel=next")
            do {
                for try await _ in stub.pages(of: list) {}
                counts["\(stub.requests.count) pages", default: 0] += 1
            } catch let error as PageError {
                counts[error.shortDescription, default: 0] += 1
                #expect(stub.requests.count == 1)
            }
            #expect(stub.requests.dropFirst().allSatisfy { $0.url?.host() == "example.com" })
        }
        #expect(Set(counts.keys).isSuperset(of: ["1 pages", "2 pages", "origin", "url"]), "\(counts)")
    }
}
