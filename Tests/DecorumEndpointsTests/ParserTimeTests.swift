import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import DecorumEndpoints

/// What a server gives takes time in proportion to its length, whatever it is.
@Suite struct ParserTimeTests {
    @Test(arguments: names + texts + streams)
    func `Twice the input takes twice the time`(parser: TimedParser) {
        parser.expectLinearTime()
    }

    private static let marks = [
        "a", ";", "=", "\"", "\\", " ", "a=\"", "a=b;", "\\\"", "%", "%41", "'", "/", ".", "é", "a\u{301}", "\u{301}",
        "\u{1F1E6}", "\u{1F468}\u{200D}", "\u{1F3FD}", "\u{200D}", "\u{7F}",
    ]

    private static let names = [
        TimedParser("ParameterizedValue", marks) { _ = ParameterizedValue($0) },
        TimedParser("ContentDisposition", marks) {
            _ = ContentDisposition("attachment; filename=\"\($0)\"; filename=\($0)")
        },
        TimedParser("filename*", marks, from: "attachment; filename*=UTF-8''") { _ = ContentDisposition($0) },
        TimedParser("SafeFileName", marks, from: "a") { _ = SafeFileName($0) },
        TimedParser("suggestedFileName", ["é", "\u{1F1E6}"]) { text in
            let fields: HTTPFields = [.contentDisposition: "attachment; filename=\"\(text)\""]
            _ = Response(status: .ok, fields: fields).suggestedFileName
        },
        TimedParser("label of a charset", marks) { _ = Charset(label: $0) },
        TimedParser("summary", ["a", "%", "="]) { _ = Response(status: .ok, fields: [.contentType: $0]).summary },
        TimedParser("Query", ["a", "&", "=", "a=b&", "%", "+"]) { _ = try? Query(parsing: $0, upTo: .max) },
        TimedParser("cursor", ["a", "&", "=", "a=b&", "%"], from: "/?") { path in
            _ = QueryText.value(of: "b", in: QueryText.setting("b", to: path, in: path))
        },
        TimedParser("URL of a page", ["a/", "a/../", "a/|../", "../", "./", ".", "?", "%", " ", "é"], from: "/") {
            text in
            let walk = PageWalk(limit: 2, allowed: [])
            guard let page = URL(string: "https://a.example/b"), let request = try? Request.get(page.absoluteString)
            else {
                return
            }
            _ = try? walk.request(for: .url(text), after: request, answeredBy: page)
        },
    ]

    private static let texts = [
        "utf-8", "utf-16le", "windows-1252", "iso-8859-2", "windows-1251", "shift_jis",
    ].map { label in
        TimedParser("text in \(label)", ["a", "é", "\u{FFFD}", "\u{1F600}"]) { text in
            _ = Charset(label: label)?.decode(Data(text.utf8))
        }
    }

    private static let streams = [
        TimedParser(
            "EventStreamParser", ["data:\n", "data", "\r", "\n", "\r\n", "id:a\n", "retry:9\n", ":", "data:a\n\n", "é"]
        ) {
            read(chunks(of: $0, .max))
        },
        TimedParser("EventStreamParser in bytes", ["data:\n", "data", "\r", "\n", "data:a\n\n"]) {
            read(chunks(of: $0, 1))
        },
        TimedParser("LineSplitter", ["\n", "a", "a\n", "\r\n"]) { text in
            for size in [1, .max] {
                var splitter = LineSplitter(limit: .max)
                for chunk in chunks(of: text, size) {
                    splitter.append(chunk)
                    while (try? splitter.next()) != nil {}
                }
                _ = splitter.last()
            }
        },
    ]

    private static func chunks(of text: String, _ size: Int) -> [Data] {
        size == 1 ? text.utf8.map { Data([$0]) } : [Data(text.utf8)]
    }

    private static func read(_ chunks: [Data]) {
        var parser = EventStreamParser()
        for chunk in chunks {
            parser.append(chunk)
            while (try? parser.next()) != nil {}
        }
    }
}
