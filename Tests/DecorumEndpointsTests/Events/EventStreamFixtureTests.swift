import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// Facts that the web platform's tests of server-sent events check.
@Suite struct EventStreamFixtureTests {
    struct Row: Decodable, Sendable, CustomTestStringConvertible {
        struct Event: Decodable {
            let type: String
            let data: String
            let id: String
        }

        let note: String
        let stream: String
        let events: [Event]
        let retry: Int?

        var testDescription: String { note }
    }

    @Test(arguments: try Fixtures.rows("endpoints/event-streams.json", of: Row.self))
    func `The parser gives the events of a browser`(row: Row) throws {
        let expected = row.events.map { ServerSentEvent(type: $0.type, data: $0.data, id: $0.id) }
        let bytes = Data(row.stream.utf8)
        for size in [1, 2, 7, max(1, bytes.count)] {
            var parser = EventStreamParser()
            var events: [ServerSentEvent] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                parser.append(Data(bytes[start..<min(start + size, bytes.count)]))
                while let event = try parser.next() { events.append(event) }
            }
            #expect(events == expected, "in pieces of \(size)")
            #expect(parser.retry == row.retry.map { .milliseconds($0) })
            #expect(parser.lastEventID == expected.last?.id ?? "")
        }
    }

    @Test func `An identifier that is not ASCII is sent as UTF-8`() async throws {
        let origin = try LoopbackOrigin()
        let fields: RawFields = ["Content-Type": "text/event-stream"]
        origin.enqueue(.init(fields: fields, body: "retry: 0\nid: …\ndata: a\n\n"), .init(.noContent))
        var events: [String] = []
        for try await event in SystemConnection().events(of: try .get(origin.url + "/")) { events.append(event.id) }
        #expect(events == ["…"])
        #expect(origin.requests.map { $0.fields["Last-Event-ID"] } == [nil, "…"])
        let head = try #require(origin.requests.last?.rawHead)
        #expect(head.range(of: Data("…".utf8)) != nil)
    }
}
