import DecorumTesting
import Foundation
import Testing

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
                let imported = try ImportedCassette(Data(document), named: "x").decodingContent()
                outcomes.read += imported.interactions.isEmpty ? 0 : 1
            } catch {
                outcomes.refused += error is CassetteImportError ? 1 : 0
            }
        }
        for _ in 0..<400 {
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
        for _ in 0..<200 { attempt((0..<200).map { _ in UInt8.random(in: 0...255, using: &generator) }) }
        for _ in 0..<200 { attempt((0..<60).map { _ in pieces.randomElement(using: &generator) ?? 0 }) }

        #expect(outcomes.read > 20)
        #expect(outcomes.refused > 400)
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

        #expect(throws: CassetteImportError.self) { try ImportedCassette(Data(document), named: "x") }
    }
}
