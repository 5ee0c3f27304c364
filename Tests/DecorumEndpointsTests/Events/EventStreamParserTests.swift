import DecorumEndpoints
import DecorumTesting
import Foundation
import Testing

@Suite struct EventStreamParserTests {
    /// Facts of the standard's section on parsing, and of the web platform's tests for it.
    private static let cases: [(stream: String, events: [ServerSentEvent])] = [
        ("data: a\n\n", [.init(data: "a")]),
        ("data:a\r\rdata: b\r\n\r\n", [.init(data: "a"), .init(data: "b")]),
        ("\u{FEFF}data: a\n\n", [.init(data: "a")]),
        ("\u{FEFF}\u{FEFF}data: a\n\n", []),
        ("data: YHOO\ndata: +2\ndata: 10\n\n", [.init(data: "YHOO\n+2\n10")]),
        (
            ": comment\n\ndata: first\nid: 1\n\ndata:second\nid\n\ndata:  third\n\n",
            [.init(data: "first", id: "1"), .init(data: "second"), .init(data: " third")]
        ),
        ("data\n\ndata\ndata\n\ndata:", [.init(data: ""), .init(data: "\n")]),
        ("data:test\n\ndata: test\n\n", [.init(data: "test"), .init(data: "test")]),
        ("event: add\ndata: 1\n\ndata: 2\n\n", [.init(type: "add", data: "1"), .init(data: "2")]),
        ("event: add\n\ndata: 2\n\n", [.init(data: "2")]),
        ("data: a\n data: b\nDATA: c\nda ta: d\ndata : e\n\n", [.init(data: "a")]),
        ("id: 1\ndata: a\n\nid: 2\n\ndata: b\n\n", [.init(data: "a", id: "1"), .init(data: "b", id: "2")]),
        ("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", [.init(data: "a", id: "1"), .init(data: "b", id: "1")]),
        ("data: é€😀\n\n", [.init(data: "é€😀")]),
        ("data: a", []), ("data: a\n", []), ("", []), ("\n\n\n", []),
        ("data: \0a\n\n", [.init(data: "\0a")]),
        ("data: a\u{2028}b\u{85}\u{B}\n\n", [.init(data: "a\u{2028}b\u{85}\u{B}")]),
    ]

    @Test(arguments: cases) func `The place of a split changes nothing`(
        stream: String, events: [ServerSentEvent]
    ) throws {
        let bytes = Data(stream.utf8)
        for index in 0...bytes.count {
            #expect(try parse([bytes.prefix(index), bytes.dropFirst(index)]) == events)
        }
        #expect(try parse(bytes.map { Data([$0]) }) == events)
    }

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
