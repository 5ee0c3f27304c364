import DecorumDemo
import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

struct Repository: Codable, Sendable {
    let id: Int
    let name: String
}

extension Endpoint where Value == Repository {
    static func repository(_ owner: String, _ name: String) -> Self {
        .get("repos/{owner}/{name}", ["owner": owner, "name": name])
    }
}

extension Endpoint where Value == [Repository] {
    static func repositories(of owner: String) -> Self { .get("users/{owner}/repos", ["owner": owner]) }
}

extension HTTPField.Name {
    // Safe: the literal is a valid field name.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let uploadTicket = HTTPField.Name("Upload-Ticket")!
}

/// Listings of calls.
@Suite(.timeLimit(.minutes(3))) struct CallListings {
    private struct GitHubProblem: Decodable, Sendable {
        let message: String
    }

    private struct Photo: Decodable, Sendable {}

    private func apiWithDecoder(_ decoder: JSONDecoder) throws -> any Connection {
        let github = try SystemConnection()
            .calling(API(decoder: decoder, problem: GitHubProblem.self), at: "https://api.github.com/v3/")
        return github
    }

    private func api() async throws -> Repository {
        let github = try SystemConnection()
            .calling(API(problem: GitHubProblem.self), at: "https://api.github.com/v3/")
        let repository = try await github.value(of: .repository("apple", "swift"))
        return repository
    }

    private func base() throws -> any Connection {
        let github = try SystemConnection()
            .calling(API(problem: GitHubProblem.self), at: "https://api.github.com/v3/")
        return github
    }

    private func value(of connection: any Connection) async throws -> Repository {
        let repository = try await connection.value(of: .repository("apple", "swift"))
        return repository
    }

    private actor Tickets {
        func next() throws -> String { "ticket" }
    }

    private func completing(token: String, origin: Origin, photo: URL, tickets: Tickets) throws {
        let connection = try SystemConnection()
            .authenticating(with: .bearer(token), for: origin)
            .completing()
            .retrying()
            .calling(at: "https://api.example.com/v1/")
        let upload = Endpoint<Photo>.post("photos", content: .file(photo))
            .completed { request in request.head.headerFields[.uploadTicket] = try await tickets.next() }
        _ = (connection, upload)
    }
}

/// Listings of paths, queries, fields and contents.
@Suite struct BuildingListings {
    private struct Item: Codable, Sendable {
        var name = "one"
    }

    private struct Photo: Decodable, Sendable {}

    enum Order: String, ParameterValue { case newest, oldest }

    @Test func paths() throws {
        let contents = Endpoint<Data>.get(
            "repos/{owner}/{name}/contents{/path*}",
            ["owner": "apple", "name": "swift", "path": PathSegments("docs/a b.md")])
        // repos/apple/swift/contents/docs/a%20b.md
        #expect(try contents.request().head.path == "repos/apple/swift/contents/docs/a%20b.md")
    }

    @Test func queries() throws {
        let cursor: String? = nil
        var query: Query = ["q": "a b&c", "page": 2, "cursor": cursor]
        query.append("tag", "new")
        query.append("tag", "sale")
        print(query.text)  // q=a+b%26c&page=2&tag=new&tag=sale, where `cursor` is nil
        #expect(query.text == "q=a+b%26c&page=2&tag=new&tag=sale")
    }

    @Test func encodedQueries() throws {
        struct Search: Encodable {
            var text: String
            var tags: [String]
            var page: Int?
        }
        let query = try Query(encoding: Search(text: "a b", tags: ["x", "y"], page: nil), nesting: .flat)
        print(query.text)  // text=a+b&tags=x&tags=y
        #expect(query.text == "text=a+b&tags=x&tags=y")
    }

    private func form(_ photo: URL) throws -> Endpoint<Photo> {
        var form: Multipart = ["title": "Summer", "public": true]
        try form.append("photo", file: photo)
        let upload = Endpoint<Photo>.post("photos", content: .multipart(form))
        return upload
    }
}

/// Listings of answers.
@Suite(.timeLimit(.minutes(3))) struct AnswerListings {
    private struct Item: Codable, Sendable {
        let name: String
    }

    private struct EmptyListError: Error {}

    @Test func reading() async throws {
        let reading = ResponseReading<[Item]>.json
            .validated { items in if items.isEmpty { throw EmptyListError() } }
            .map { items in items.map(\.name) }
        let stub = StubConnection(
            Response(status: .ok, body: #"[{"name": "one"}]"#), Response(status: .ok, body: "[]"))
        let names = Endpoint(.get, "items", as: reading)
        #expect(try await stub.value(of: names) == ["one"])
        await #expect(throws: EmptyListError.self) { try await stub.value(of: names) }
    }

    private func events(_ connection: any Connection) async throws {
        for try await event in connection.events(of: try .get("https://api.example.com/news")) {
            print(event.type, event.data)
        }
    }

    private func pages(_ connection: any Connection, show: ([Repository]) -> Void) async throws {
        for try await page in connection.pages(of: .repositories(of: "apple")) {
            show(page)
        }
    }

    private func element(_ connection: any Connection, named name: String) async throws -> Repository? {
        for try await repository in connection.elements(of: .repositories(of: "apple")) {
            if repository.name == name { return repository }
        }
        return nil
    }

    private func lines(_ response: Response) async throws -> [Item] {
        typealias Row = Item
        var table: [Row] = []
        for try await row in response.jsonLines(of: Row.self, upTo: 1 << 20) {
            table.append(row)
        }
        return table
    }

    private func save(_ connection: any Connection, to file: URL) async throws {
        let response = try await connection.send(.get("https://example.com/manual.pdf"))
        try await response.save(to: file, upTo: 100 << 20)
    }

    private func text(_ response: Response) async throws -> String {
        let text = try await response.text(upTo: 1 << 20)
        return text
    }

    @Test func demo() async throws {
        let demo = try DemoAPI()
        let connection = try SystemConnection().resolving(against: demo.url)
        let response = try await connection.send(.get("notes?per_page=2"))
        #expect(try await response.decode([DemoNote].self, upTo: 1 << 20).count == 2)
    }
}
