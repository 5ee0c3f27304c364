import Decorum
import DecorumArchive
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// Input that no tool writes: each reader returns or throws its own error, and all that read JSON agree about it.
@Suite struct ReaderFuzzTests {
    static let documents = [
        #"{"a": [1, -0.5e+3, "x\u00e9\ud83d\ude00\n", true, null, {"b": {}}], "": [[]], "password": "s3cr3t"}"#,
        #"[{"scope": "https://a.example", "path": "/", "rawHeaders": ["a", "b"], "response": ["1f8b"]}]"#,
        #"{"log": {"creator": {"name": "x"}, "entries": [{"request": {"url": "x", "headers": [{"name": "a", "value": "b"}]}}]}}"#,
    ]

    @Test(arguments: documents)
    func `The readers of JSON agree on each damaged document`(seed: String) {
        var dice = SeededDice(seed: UInt64(seed.utf8.count))
        let pieces = Array(#"{}[]:,"\u0eE+-.truefalsn1 9/"#.utf8) + [0, 0x1F, 0x7F, 0xC3, 0xFF]
        var valid = 0
        for round in 0..<4000 {
            var bytes = Array(seed.utf8)
            if round > 0 {
                for _ in 0..<Int.random(in: 1...3, using: &dice) { damage(&bytes, pieces, &dice) }
            }
            valid += check(bytes) ? 1 : 0
        }
        #expect(valid > 40)
    }

    /// Compares the readers, and returns whether the document is JSON.
    private func check(_ bytes: [UInt8]) -> Bool {
        var scanner = JSONScanner(bytes)
        let range = try? scanner.skipValue()
        let isJSON = range != nil && (try? scanner.expectEnd()) != nil
        let isText = String(validating: bytes, as: UTF8.self) != nil
        let value = try? JSONValue(parsing: bytes)
        let secrets = JSONSecrets(bytes, rules: Redaction.standard.rules)

        // A string that is not UTF-8 is skipped, and not read.
        #expect((value != nil) == (isJSON && isText))
        if isJSON { #expect(secrets.fault == nil) }
        #expect(secrets.places.allSatisfy { bytes.indices.contains($0.range.lowerBound) || $0.range.isEmpty })
        if let value, let again = try? JSONValue(parsing: value.document()) { #expect(again == value) }
        guard isJSON else { return false }
        // Skipping counts as many values as reading does, so that a limit stops both at the same value.
        var counted = JSONScanner(bytes, countLimit: scanner.count)
        #expect((try? counted.skipValue()) != nil)
        var refused = JSONScanner(bytes, countLimit: scanner.count - 1)
        #expect((try? refused.skipValue()) == nil)
        if isText {
            #expect((try? JSONValue(parsing: bytes, countLimit: scanner.count)) != nil)
            #expect((try? JSONValue(parsing: bytes, countLimit: scanner.count - 1)) == nil)
        }
        return true
    }

    private func damage(_ bytes: inout [UInt8], _ pieces: [UInt8], _ dice: inout SeededDice) {
        guard let index = bytes.indices.randomElement(using: &dice) else { return }
        switch Int.random(in: 0..<5, using: &dice) {
        case 0: bytes[index] = pieces.randomElement(using: &dice) ?? 0
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(pieces.randomElement(using: &dice) ?? 0, at: index)
        case 3: bytes = Array(bytes[..<index])
        default: bytes.insert(contentsOf: bytes[..<index], at: index)
        }
    }

    @Test(arguments: [
        ("[", "]"), (#"{"a":"#, "}"), (#"[{"":"#, "}]"), ("[0,[", "]]"),
    ])
    func `Deep nesting is refused by each reader, and not by the stack`(open: String, close: String) {
        let count = 100_000
        let document = Data((String(repeating: open, count: count) + "1" + String(repeating: close, count: count)).utf8)

        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: Array(document)) }
        #expect(throws: CassetteImportError.self) { try ImportedCassette(document, named: "x") }
        #expect(JSONSecrets(Array(document), rules: Redaction.standard.rules).fault != nil)
    }

    /// The files of each format, as JSON.
    static let files: [String: String] = [
        "HAR":
            #"{"log": {"creator": {"name": "WebKit"}, "entries": [{"startedDateTime": "2026-11-20T10:00:00.000Z", "request": {"method": "GET", "url": "https://a.example/", "headers": [{"name": "a", "value": "b"}], "postData": {"mimeType": "x", "text": "y", "params": [{"name": "a", "value": "b"}], "_file": "z"}}, "response": {"status": 200, "_error": "x", "headers": [{"name": "Set-Cookie", "value": "a=1, b=2"}], "content": {"text": "a", "encoding": "base64", "_file": "x", "comment": "truncated"}}, "_cassette": {"failure": ["x", "head"], "chunks": [[1, 2]], "informational": [[103, [["a", "b"]]]], "content": "AA=="}}]}}"#,
        "Polly.js":
            #"{"log": {"creator": {"name": "Polly.JS"}, "entries": [{"request": {"url": "https://a.example/"}, "response": {"status": 200, "headers": [{"name": "content-encoding", "value": "deflate"}], "content": {"text": "[\"q1ZKVLJSykjNyclXKM8vyklRGGXTjq1UCwA=\"]", "encoding": "base64", "_isBinary": true}}}]}}"#,
        "VCR":
            #"{"http_interactions": [{"request": {"method": "get", "uri": "https://<HOST>/", "headers": {"A": ["b"]}, "body": {"encoding": "UTF-8", "string": "<%= x %>"}}, "response": {"status": {"code": 200, "message": "OK"}, "body": {"encoding": "latin1", "base64_string": "AA==", "file": true, "string": "../a"}, "adapter_metadata": {"vcr_decompressed": "gzip"}}, "recorded_at": "Wed, 19 Aug 2026 14:34:15 GMT"}], "recorded_with": "VCR"}"#,
        "vcrpy":
            #"{"version": 1, "interactions": [{"request": {"method": "GET", "uri": "https://a.example/", "headers": {"a": ["b"]}, "body": {"base64_string": "AA=="}, "parsed_body": [1]}, "response": {"status": {"code": 200, "message": "OK"}, "body": {"string": "a"}, "content": "x"}}]}"#,
        "go-vcr":
            #"{"version": 2, "interactions": [{"request": {"url": "https://a.example/", "method": "GET", "body": "x", "headers": {"a": ["b"]}, "trailer": {"a": ["b"]}}, "response": {"code": 200, "status": "200 OK", "uncompressed": true, "body": "x"}}]}"#,
        "DVR":
            #"{"name": "x", "interactions": [{"recorded_at": 1.5, "request": {"url": "https://a.example/", "headers": {"Content-Type": "application/json"}, "body": {"a": [1]}}, "response": {"status": 200, "error": "x", "headers": {"Content-Encoding": "gzip"}, "body": "AA=="}}]}"#,
        "undici":
            #"[{"snapshot": {"timestamp": "2026-11-20T10:00:00.000Z", "request": {"url": "https://a.example/", "headers": {"a": "b"}, "body": "1,2"}, "responses": [{"statusCode": 200, "headers": {"set-cookie": "a=1, b=2"}, "body": "AA==", "trailers": {"a": "b"}}]}}]"#,
        "nock":
            #"[{"scope": "https://a.example:443", "method": "GET", "path": "/", "status": 200, "body": "ff", "response": ["1f8b"], "responseIsBinary": true, "rawHeaders": ["Content-Encoding", "gzip"], "reqheaders": {"content-type": "image/png"}}]"#,
    ]

    @Test(arguments: files.keys.sorted())
    func `Values of unexpected types and sizes are read or refused`(name: String) throws {
        let root = try JSONValue(parsing: Array(try #require(Self.files[name]).utf8))
        var dice = SeededDice(seed: UInt64(name.utf8.count))
        var outcomes: (read: Int, refused: Int) = (0, 0)
        let folder = try TemporaryFolder()

        for _ in 0..<1200 {
            var document = root
            for _ in 0..<Int.random(in: 1...3, using: &dice) { document = changed(document, &dice) }
            do {
                let bytes = Data(document.document())
                let limits = ImportLimits(contentLength: 1 << 20, valueCount: 10_000, fieldCount: 100)
                let imported = try ImportedCassette(bytes, named: name, folder: folder.url, limits: limits)
                let decoded = try imported.decodingContent()
                let messages =
                    decoded.interactions.map(\.request.fields) + decoded.interactions.compactMap(\.response?.fields)
                #expect(messages.allSatisfy { $0.count <= 100 })
                #expect(decoded.warnings.allSatisfy { $0.line == 1 && $0.place.hasPrefix("$") })
                outcomes.read += 1
            } catch let error as CassetteImportError {
                #expect(!error.reason.isEmpty)
                outcomes.refused += 1
            }
        }

        #expect(outcomes.read > 100)
        #expect(outcomes.refused > 20)
    }

    /// The value with another one in the place of a random part.
    private func changed(_ value: JSONValue, _ dice: inout SeededDice) -> JSONValue {
        let isHere = Int.random(in: 0..<8, using: &dice) == 0
        switch value {
        case .object(var members) where !members.isEmpty && !isHere:
            let index = Int.random(in: 0..<members.count, using: &dice)
            if Int.random(in: 0..<12, using: &dice) == 0 {
                members.remove(at: index)
            } else {
                members[index].value = changed(members[index].value, &dice)
            }
            return .object(members)
        case .array(var elements) where !elements.isEmpty && !isHere:
            let index = Int.random(in: 0..<elements.count, using: &dice)
            elements[index] = changed(elements[index], &dice)
            return .array(elements)
        default: return Self.strange.randomElement(using: &dice) ?? .null
        }
    }

    private static let strange: [JSONValue] = [
        .null, .bool(true), .number("-1"), .number("1e999"), .number("99999999999999999999"), .string(""),
        .string("\u{0}"), .string("<A_B>"), .string("\u{FFFD}"), .string("[]"), .string("[\"\"]"), .string("../../x"),
        .string(String(repeating: "a=1, ", count: 200)), .array([]), .object([]), .array([.null]),
        .array([.array([.string("a"), .string("b")])]), .array(Array(repeating: .string("x"), count: 300)),
        .object([JSONValue.Member("", .array([.object([])]))]),
        .object([JSONValue.Member("base64_string", .number("1"))]),
        .string("H4sIAAAAAAACA6tWSlSyUspIzcnJVyjPL8pJURhl046tVAsAIuL/Y3ABAAA="),
        .object([JSONValue.Member("status", .string("200"))]), .array(Array(repeating: .array([]), count: 20_000)),
    ]
}
