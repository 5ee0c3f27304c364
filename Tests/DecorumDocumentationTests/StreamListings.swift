import DecorumEndpoints
import DecorumTesting
import Testing

struct Row: Decodable, Equatable, Sendable { let id: Int }

extension Endpoint where Value == Void {
    fileprivate static var changes: Self { .get("changes") }
    fileprivate static func answer(to question: String) -> Self { .post("answers", content: .text(question)) }
}

extension Endpoint where Value == JSONLines<Row> {
    static var rows: Self { Self(.get, "export", as: .jsonLines()) }
}

/// The listings of the pages of streams of values.
@Suite struct StreamListings {
    private struct Note: Decodable, Sendable { let title: String }
    private struct Token: Decodable, Sendable { let text: String }

    private func events(_ text: String) -> StubConnection {
        StubConnection(
            Response(status: .ok, fields: [.contentType: "text/event-stream"], body: Body(text)),
            Response(status: .noContent)
        )
    }

    @Test func eventsOfAnEndpoint() async throws {
        let api = events("retry: 0\ndata: {\"title\": \"one\"}\n\n")
        var shown: [String] = []
        func show(_ text: String) { shown.append(text) }
        for try await note in try api.events(of: .changes).values(of: Note.self) { show(note.title) }

        #expect(shown == ["one"])
    }

    @Test func tokensOfALanguageModel() async throws {
        let api = events("data: {\"text\": \"Because\"}\n\ndata: [DONE]\n\n")
        let question = "Why?"
        var shown: [String] = []
        func show(_ text: String) { shown.append(text) }
        let tokens = try api.events(of: .answer(to: question)).values(of: Token.self, until: "[DONE]")
        for try await token in tokens { show(token.text) }

        #expect(shown == ["Because"])
    }

    @Test func linesOfJSON() async throws {
        let api = StubConnection(Response(status: .ok, body: "{\"id\": 1}\n{\"id\": 2}\n"))
        var table: [Row] = []
        for try await row in try await api.value(of: .rows) { table.append(row) }

        #expect(table == [Row(id: 1), Row(id: 2)])
    }
}
