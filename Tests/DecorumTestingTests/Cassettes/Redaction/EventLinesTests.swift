import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

/// JSON that one event of a stream has on several lines, which its reader joins.
@Suite struct EventLinesTests {
    private let recorder = TestRecorder()

    private static let token = "x7Rq2LmZ9sKd4TbVn8Wc"

    @Sendable private static func stream(_ text: String) -> Response {
        Response(status: .ok, fields: [.contentType: "text/event-stream"], body: Body(Data(text.utf8)))
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func `The data of an event are its lines, joined`(end: String) {
        let text = [
            "\u{FEFF}data: {", "event: a", "data:\"b\": 1", "data: }", "", ": comment", "data", "", "", "data:  c",
        ]
        let lines = EventLines(Array(text.joined(separator: end).utf8))
        #expect(
            lines.events.map { String(decoding: lines.joined($0.data), as: UTF8.self) } == ["{\n\"b\": 1\n}", "", " c"])
        #expect(
            lines.otherLines.map { String(decoding: lines.bytes[$0], as: UTF8.self) } == ["event: a", ": comment"])
    }

    @Test func `Events have the types that a reader gets`() {
        let text =
            "event: a\ndata: 1\n\nevent: lost\n\ndata: 2\n\nevent:\ndata\n\n"
            + "events: b\nevent:c\ndata: 3\nevent: d\n"
        let lines = EventLines(Array(text.utf8))
        #expect(lines.events.count == 4)
        #expect(lines.typeNames == ["a", "message", "d"])
    }

    @Test func `A name and its secret on two lines of an event are recognised, and other lines stay`() async throws {
        let event = "id: 1\ndata: {\"access_token\":\ndata:  \"\(Self.token)\", \"kind\": \"a\"\ndata: }\n\n"
        let request = try Request.get("https://example.com/")
        _ = try await recorder.run(.once, [request], rules: .silent) { _ in Self.stream(event) }
        let played = try await recorder.run(.replay, [request], rules: .silent)
        #expect(try !recorder.folder.text("feed.json").contains(Self.token))
        #expect(played.count == 1)
        let lines = try #require(played.first).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(
            lines.count == 6 && lines[0] == "id: 1" && lines[1] == "data: {\"access_token\":" && lines[3] == "data: }")
        #expect(lines[2].hasPrefix("data:  \"__token-1__") && lines[2].hasSuffix("\", \"kind\": \"a\""), "\(lines[2])")
    }

    @Test func `A path of the rules reaches JSON on several lines`() async throws {
        let event = "data: {\"choices\": [\ndata: {\"token\": \"\(Self.token)\"}\ndata: ]}\n\n"
        var rules = CassetteRules.silent
        rules.allowedSecrets.append(.json("choices.token"))
        let request = try Request.get("https://example.com/")
        _ = try await recorder.run(.once, [request], rules: rules) { _ in Self.stream(event) }
        #expect(try await recorder.run(.replay, [request], rules: rules) == [event])
    }

    @Test func `Verifying compares JSON on several lines`() async throws {
        let request = try Request.get("https://example.com/")
        _ = try await recorder.run(.once, [request]) { _ in Self.stream("data: {\"id\":\ndata: 1}\n\n") }
        _ = try await recorder.run(.verify, [request]) { _ in Self.stream("data: {\ndata: \"id\": 2\ndata: }\n\n") }
        let error = await #expect(throws: CassetteDriftError.self) {
            try await recorder.run(.verify, [request]) { _ in Self.stream("data: {\"id\":\ndata: \"1\"}\n\n") }
        }
        #expect(error?.drifts.first?.changes == ["events[*].id  was a number, is a string"])
    }

    @Test func `Events without an empty line between them are compared line by line`() {
        let shape = JSONShape(ofEvents: Data("data: {\"a\":1}\ndata: {\"a\":2}\n".utf8))
        #expect(shape == .array(.object(["a": .number], absent: [])))
    }
}
