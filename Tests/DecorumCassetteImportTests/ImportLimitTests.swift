#if CassetteImport
import Decorum
import DecorumArchive
import DecorumCassetteImport
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Small files that would take the memory, the time or the process of their reader.
@Suite(.serialized) struct ImportLimitTests {
    /// 3,151 bytes of YAML with 256 aliases of a list of 256 fields.
    static let aliases: String = {
        let list = Array(repeating: "a", count: 256).joined(separator: ",")
        let repeats = Array(repeating: "*x", count: 255).joined(separator: ",")
        return """
            http_interactions:
            - request: {method: get, uri: 'https://a.example/', headers: {A: [&x [\(list)],\(repeats)]}}
              response: {status: {code: 200}}
            """
    }()

    /// Messages with 1,200 fields, in each format and each place that has some.
    static let messages: [(name: String, document: String)] = {
        let many = 1200
        let pairs = Array(repeating: #"{"name":"a","value":"b"}"#, count: many).joined(separator: ",")
        let values = Array(repeating: #""b""#, count: many).joined(separator: ",")
        let raw = Array(repeating: #""a","b""#, count: many).joined(separator: ",")
        let tuples = Array(repeating: #"["a","b"]"#, count: many).joined(separator: ",")
        let cookies = (0..<many).map { "c\($0)=1" }.joined(separator: ", ")
        let lines = Array(repeating: "b", count: many).joined(separator: #"\n"#)
        func har(_ request: String = "", _ response: String = "", _ entry: String = "", creator: String = "x") -> String
        {
            #"{"log":{"creator":{"name":"\#(creator)"},"entries":[{\#(entry)"request":{\#(request)"url":"https://a.example/"},"#
                + #""response":{\#(response)"status":200}}]}}"#
        }
        return [
            ("aliases of YAML", aliases), ("a request of HAR", har(#""headers":[\#(pairs)],"#)),
            ("an object of HAR", har(#""headers":{"a":[\#(values)]},"#)),
            ("lines in one value of HAR", har(#""headers":[{"name":"a","value":"\#(lines)"}],"#)),
            (
                "joined cookies of Safari",
                har("", #""headers":[{"name":"Set-Cookie","value":"\#(cookies)"}],"#, creator: "WebKit")
            ),
            ("trailers of an archive of ours", har("", "", #""_cassette":{"trailers":[\#(tuples)]},"#)),
            ("an interim response of ours", har("", "", #""_cassette":{"informational":[[103,[\#(tuples)]]]},"#)),
            (
                "DVR",
                #"{"name":"x","interactions":[{"request":{"url":"https://a.example/","headers":{"a":[\#(values)]}},"response":{}}]}"#
            ),
            (
                "vcrpy",
                #"{"version":1,"interactions":[{"request":{"uri":"https://a.example/","headers":{"a":[\#(values)]}},"response":{"status":{"code":200}}}]}"#
            ),
            (
                "trailers of go-vcr",
                #"{"version":2,"interactions":[{"request":{"url":"https://a.example/"},"response":{"code":200,"trailer":{"a":[\#(values)]}}}]}"#
            ),
            (
                "joined cookies of undici",
                #"[{"snapshot":{"request":{"url":"https://a.example/"},"responses":[{"statusCode":200,"headers":{"set-cookie":"\#(cookies)"}}]}}]"#
            ),
            (
                "raw fields of nock",
                #"[{"scope":"https://a.example:443","path":"/","status":200,"rawHeaders":[\#(raw)]}]"#
            ),
        ]
    }()

    @Test(arguments: messages.map(\.name))
    func `A message with too many fields is refused where it stands`(name: String) throws {
        let document = try #require(Self.messages.first { $0.name == name }?.document)
        let error = #expect(throws: CassetteImportError.self) {
            try ImportedCassette(Data(document.utf8), named: "feed", formats: .known)
        }
        #expect(error?.reason == "a message has more than 1000 fields")
        #expect(error?.line != nil)
        #expect(error?.place?.hasPrefix("$") == true)
    }

    @Test func `As many fields as the limit allows are read, and the limit is the caller's`() throws {
        let values = Array(repeating: #""b""#, count: 1001).joined(separator: ",")
        let document = Data(
            #"{"name":"x","interactions":[{"request":{"url":"https://a.example/","headers":{"a":[\#(values)]}},"response":{}}]}"#
                .utf8)
        #expect(throws: CassetteImportError.self) { try ImportedCassette(document, named: "feed", formats: .known) }
        let imported = try ImportedCassette(
            document, named: "feed", formats: .known, limits: ImportLimits(fieldCount: 1001))
        #expect(imported.interactions[0].request.fields.count == 1001)
    }

    @Test func `A cassette of VCR for R is refused where its files have more than half a gigabyte`() throws {
        let folder = TemporaryFolder()
        try Data().write(to: folder.url.appending(path: "a.bin"))
        let handle = try FileHandle(forWritingTo: folder.url.appending(path: "a.bin"))
        // What was never written takes no space on the disk.
        try handle.truncate(atOffset: 200 << 20)
        try handle.close()
        let exchange =
            "- {request: {uri: x}, response: {status: {code: 200}, body: {file: yes, string: a.bin}}}\n"
        try folder.write("http_interactions:\n" + String(repeating: exchange, count: 3), to: "feed.yml")

        var rules = CassetteRules()
        rules.formats = .known
        let error = #expect(throws: CassetteImportError.self) {
            try Cassette(at: folder.path("feed.yml"), mode: .replay, rules: rules)
        }

        #expect(error?.reason == "its contents have more than 536870912 bytes once their encodings are undone")
        #expect(error?.place == "$.http_interactions[2].response.body.string, line 4")
    }
}

@Suite struct ImportFuzzTests {
    static let seeds = [
        """
        ---
        http_interactions:
        - request: {method: get, uri: 'https://a.example/', body: {encoding: UTF-8, string: ''}, headers: {A: [b]}}
          response:
            status: {code: 200, message: OK}
            headers:
              Content-Encoding:
              - gzip
            body:
              encoding: ASCII-8BIT
              string: !binary |-
                H4sIAAAAAAACA6tWSlSyUspIzcnJVyjPL8pJURhl046tVAsAIuL/Y3ABAAA=
          recorded_at: Wed, 19 Aug 2026 14:34:15 GMT
        """,
        """
        interactions:
        - request:
            body: "a \\
              b\\x41\\u00e9"
            headers: {}
            method: GET
            uri: https://a.example/
          response:
            body:
              string: |+
                text

            status: {code: 200, message: OK}
        version: 1
        """,
        #"""
        {"log": {"version": "1.2", "creator": {"name": "Polly.JS"}, "entries": [{"startedDateTime": "2026-11-20T10:00:00.000Z",
        "time": 1.5, "request": {"method": "GET", "url": "https://a.example/?a=b", "headers": [{"name": "a", "value": 1}],
        "postData": {"params": [{"name": "a", "value": "b"}]}}, "response": {"status": 200, "headers":
        [{"name": "content-encoding", "value": "gzip"}], "content": {"text": "[\"1f8b\"]", "encoding": "base64"}}}]}}
        """#,
        """
        interactions:
        - request: &1 {body: '', headers: {A: &2 [b]}, method: GET, url: &3 'https://a.example/'}
          response: &4
            body: >-
              folded
              text

               and more
            headers: {? A : *2, B: *2}
            ? code
            : 200
            status: 200 OK
        - request: *1
          response: *4
        version: 1
        """,
        #"[{"scope": "https://a.example:443", "path": "/", "status": 200, "response": ["1f8b"], "rawHeaders": ["a", "b"]}]"#,
        #"[{"snapshot": {"request": {"url": "http://a.example"}, "responses": [{"statusCode": 200, "body": "AAE="}]}}]"#,
        #"{"name": "x", "interactions": [{"request": {"url": "http://a.example"}, "response": {"body": [1.0, "x"]}}]}"#,
    ]

    @Test(arguments: seeds)
    func `A document that is cut off, damaged or mixed up is read or refused, and never crashes`(seed: String) {
        let bytes = Array(seed.utf8)
        let pieces = Array("{}[]:,-'\"|>&*!#%@`?1\\\n \t\u{2028}\0<~".utf8)
        var generator = SeededDice(seed: UInt64(bytes.count))
        var outcomes: (read: Int, refused: Int) = (0, 0)
        func attempt(_ document: [UInt8]) {
            do {
                let imported = try ImportedCassette(Data(document), named: "x", formats: .known).decodingContent()
                outcomes.read += imported.interactions.isEmpty ? 0 : 1
            } catch {
                outcomes.refused += error is CassetteImportError ? 1 : 0
            }
        }
        let rounds = Footprint.isSoak ? 400 : 60
        for _ in 0..<rounds {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let index = Int.random(in: 0..<damaged.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: damaged[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: damaged.remove(at: index)
                case 2: damaged.insert(pieces.randomElement(using: &generator) ?? 0, at: index)
                default:
                    let end = Int.random(in: index...damaged.count, using: &generator)
                    damaged.insert(contentsOf: damaged[index..<end], at: index)
                }
            }
            attempt(damaged)
        }
        for count in stride(from: 0, to: bytes.count, by: 7) { attempt(Array(bytes.prefix(count))) }
        for _ in 0..<rounds { attempt((0..<200).map { _ in UInt8.random(in: 0...255, using: &generator) }) }
        for _ in 0..<rounds { attempt((0..<60).map { _ in pieces.randomElement(using: &generator) ?? 0 }) }

        #expect(outcomes.read > rounds / 20)
        #expect(outcomes.refused > rounds)
    }

    @Test(arguments: [
        "x", "\n", "- ", "[", "\"", "? ", "&a ", "*a ", "- &a b\n", "? a\n", ">\n", "a: b\n", "- a\n", "a:\n",
        "{\"a\":", "'\n", " \n", "|\n", "\u{2028}", "!a ",
    ])
    func `A fifth of a megabyte of the same is over soon`(unit: String) throws {
        let unit = Array(unit.utf8)
        var document: [UInt8] = []
        document.reserveCapacity(200_000)
        while document.count < 200_000 { document += unit }
        #expect(throws: CassetteImportError.self) { try ImportedCassette(Data(document), named: "x", formats: .known) }
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
        let folder = TemporaryFolder()

        let rounds = Footprint.isSoak ? 1200 : 300
        for _ in 0..<rounds {
            var document = root
            for _ in 0..<Int.random(in: 1...3, using: &dice) { document = changed(document, &dice) }
            do {
                let bytes = Data(document.document())
                let limits = ImportLimits(contentLength: 1 << 20, valueCount: 1000, fieldCount: 100)
                let imported = try ImportedCassette(
                    bytes, named: name, folder: folder.url, formats: .known, limits: limits)
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

        #expect(outcomes.read > rounds / 12)
        #expect(outcomes.refused > rounds / 60)
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
        .object([JSONValue.Member("status", .string("200"))]), .array(Array(repeating: .array([]), count: 2000)),
    ]
}

/// A seeded generator in the form that the standard library draws from.
struct SeededDice: RandomNumberGenerator {
    private let generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    func next() -> UInt64 { generator.next() }
}
#endif
