import DecorumEndpoints
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

@Suite struct EventStreamParserTests {
    @Test func `Invalid UTF-8 is replaced as in browsers`() throws {
        let bytes = Data("data: ".utf8) + Data([0x61, 0xFF, 0xC3]) + Data("\n\n".utf8)
        #expect(try parse([bytes]) == [.init(data: "a\u{FFFD}\u{FFFD}")])
    }

    @Test(arguments: [("1500", 1500), ("0", 0), ("1x", nil), ("", nil), ("-1", nil), ("1.5", nil), ("٣", nil)])
    func `Digits alone are a time`(value: String, milliseconds: Int?) throws {
        var parser = EventStreamParser()
        parser.append(Data("retry: \(value)\n".utf8))
        #expect(try parser.next() == nil)
        #expect(parser.retry == milliseconds.map { .milliseconds($0) })
    }

    @Test func `A time of any number of digits is no trap`() throws {
        var parser = EventStreamParser()
        parser.append(Data("retry: \(String(repeating: "9", count: 400))\n".utf8))
        #expect(try parser.next() == nil)
        #expect(parser.retry ?? .zero > .seconds(86_400))
    }

    @Test func `The identifier of an incomplete event does not count`() throws {
        var parser = EventStreamParser(lastEventID: "0")
        parser.append(Data("id: 1\ndata: a\n\nid: 2\ndata: b\n".utf8))
        #expect(try parser.next() == .init(data: "a", id: "1"))
        #expect(try parser.next() == nil)
        #expect(parser.lastEventID == "1")
    }

    @Test(arguments: [
        "data: 0123456789\n\n", "data: 0123456789", ":0123456789012345", "data: 012\ndata: 34\ndata: 567\n\n",
    ])
    func `An endless line or event is an error`(stream: String) {
        #expect(throws: EventStreamError.self) { try parse([Data(stream.utf8)], limit: 8) }
        #expect(throws: EventStreamError.self) { try parse(stream.utf8.map { Data([$0]) }, limit: 8) }
    }

    @Test func `Random streams give the same events however they are split`() throws {
        let generator = SeededGenerator(seed: 92)
        let pieces = [
            "data", "id", "event", "retry", ":", ": ", "\n", "\r", "\r\n", "\n\n", "a", "é", "\u{FEFF}", "\0", " ", "7",
        ]
        var count = 0
        for _ in 0..<1000 {
            let text = (0..<40).map { _ in pieces[Int(generator.next() % UInt64(pieces.count))] }.joined()
            var bytes = Array(text.utf8)
            bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: generator.next())
            let whole = try parse([Data(bytes)])
            count += whole.count
            #expect(try parse(bytes.map { Data([$0]) }) == whole)
            #expect(whole == Self.reference(bytes))
        }
        #expect(count > 100)
    }

    private func parse(_ chunks: [Data], limit: Int = 1 << 20) throws -> [ServerSentEvent] {
        var parser = EventStreamParser(limit: limit)
        var events: [ServerSentEvent] = []
        for chunk in chunks {
            parser.append(chunk)
            while let event = try parser.next() { events.append(event) }
        }
        return events
    }

    /// The standard's steps, word for word and slowly.
    private static func reference(_ bytes: [UInt8]) -> [ServerSentEvent] {
        var scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        var lines: [String] = []
        var line = String.UnicodeScalarView()
        var index = 0
        while index < scalars.count {
            if scalars[index] == "\r" || scalars[index] == "\n" {
                if scalars[index] == "\r", index + 1 < scalars.count, scalars[index + 1] == "\n" { index += 1 }
                lines.append(String(line))
                line = String.UnicodeScalarView()
            } else {
                line.append(scalars[index])
            }
            index += 1
        }
        var (events, data, type, id): ([ServerSentEvent], String, String, String) = ([], "", "", "")
        for line in lines {
            let scalars = line.unicodeScalars
            if scalars.isEmpty {
                if !data.unicodeScalars.isEmpty {
                    let text = String(data.unicodeScalars.dropLast())
                    events.append(.init(type: type.isEmpty ? "message" : type, data: text, id: id))
                }
                (data, type) = ("", "")
                continue
            }
            let colon = scalars.firstIndex(of: ":")
            var value = colon.map { scalars[$0...].dropFirst() } ?? ""[...].unicodeScalars
            if value.first == " " { value = value.dropFirst() }
            switch String(scalars[..<(colon ?? scalars.endIndex)]) {
            case "data": data += String(value) + "\n"
            case "event": type = String(value)
            case "id" where !value.contains("\0"): id = String(value)
            default: break
            }
        }
        return events
    }
}

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
