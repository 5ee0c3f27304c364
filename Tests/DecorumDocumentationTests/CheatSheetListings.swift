import DecorumEndpoints
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The listings of “At a glance”, with the output that the page states.
@Suite(.timeLimit(.minutes(3))) struct CheatSheetListings {
    private struct Item: Codable, Equatable, Sendable {
        let id: Int
        let title: String
    }

    private struct Search: Encodable, Sendable {
        var text: String
        var tags: [String]
    }

    private struct ItemPage: Decodable, Sendable {
        let items: [Item]
        let nextCursor: String?
    }

    @MainActor private final class Bar {
        var fraction = 0.0
    }

    @Test func queries() throws {
        let search = Search(text: "a b", tags: ["x", "y"])
        let encoded = try Query(encoding: search, nesting: .bracketedKeys)  // text=a+b&tags=x&tags=y
        let literal: Query = ["q": "a b", "page": 2, "tag": "x", "tag": "y"]  // q=a+b&page=2&tag=x&tag=y

        #expect(encoded.text == "text=a+b&tags=x&tags=y")
        #expect(literal.text == "q=a+b&page=2&tag=x&tag=y")
    }

    @Test func forms() throws {
        let search = Search(text: "a b", tags: ["x", "y"])
        let post = Endpoint<Void>.post("searches", content: .form(encoding: search, nesting: .flat))
        #expect(try post.request().body.bytes == Data("text=a+b&tags=x&tags=y".utf8))
    }

    private func single(_ connection: any Connection) async throws -> (Item?, [Item], String?) {
        let item = try await connection.value(of: Endpoint<Item>.get("items/{id}", ["id": 7]).nilIfMissing())
        let answer = try await connection.response(of: Endpoint<[Item]>.get("items"))
        let (items, date) = (answer.value, answer.head.headerFields[.lastModified])
        try await connection.value(of: Endpoint<Void>.delete("items/{id}", ["id": 7]))

        return (item, items, date)
    }

    private func lists(_ connection: any Connection) -> [Pages<ItemPage, Item>] {
        let list = Endpoint<ItemPage>.get("items")
        let byCursor = connection.elements(of: list, in: \.items, by: .cursor("cursor", \.nextCursor))
        let byOffset = connection.elements(of: list, in: \.items, by: .offset("offset", \.items.count))
        let byNumber = connection.elements(of: list, in: \.items, by: .number("page", \.items.count))

        return [byCursor, byOffset, byNumber]
    }

    @MainActor private func file(_ connection: any Connection, in folder: URL, _ bar: Bar) async throws -> URL {
        let download = Endpoint<URL>.get("report", as: .file(in: folder, upTo: 1 << 30))
        let file = try await connection.value(
            of: download.reportingDownload { @MainActor progress in bar.fraction = progress.fraction ?? 0 })

        return file
    }

    @Test func streams() async throws {
        let connection = StubConnection(
            Response(status: .ok, body: #"{"id": 7, "title": "one"}"#),
            Response(
                status: .ok, fields: [.contentType: "text/event-stream"],
                body: "data: {\"id\": 8, \"title\": \"two\"}\n\ndata: [DONE]\n\n"))
        let question = Item(id: 1, title: "Why?")
        var items: [Item] = []
        let export = Endpoint<JSONLines<Item>>(.get, "export", as: .jsonLines())
        for try await item in try await connection.value(of: export) {
            items.append(item)
        }
        let prompt = Endpoint<Void>.post("answers", content: .json(question))
        for try await item in try connection.events(of: prompt).values(of: Item.self, until: "[DONE]") {
            items.append(item)
        }

        #expect(items.map(\.id) == [7, 8])
    }

    @Test func tests() async throws {
        let latest = Endpoint<Item>.get("items/latest").sampled(.json(Item(id: 7, title: "one")))
        let preview = try await SampleConnection().value(of: latest)
        let stub = StubConnection(Response(status: .ok, body: #"{"id": 7, "title": "one"}"#))
        let stubbed = try await stub.calling(at: "https://api.example.com/v1/").value(of: latest)

        #expect(preview == stubbed)
        #expect(stub.requests.map { $0.url?.absoluteString } == ["https://api.example.com/v1/items/latest"])
    }
}
