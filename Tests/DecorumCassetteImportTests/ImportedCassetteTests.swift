#if CassetteImport
import DecorumCassetteImport
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Files of each recorder, of its other releases, and of recorders that adopted its format.
@Suite struct ImportedCassetteTests {
    @Test(arguments: [("get", "GET"), ("Post", "POST"), ("PURGE", "PURGE"), ("Foo", "Foo"), ("delete", "DELETE")])
    func `A method that is registered is in upper case, and any other as it is`(method: String, expected: String) throws
    {
        let imported = try read(
            """
            {"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [{"request": {"method": "\(method)",
            "url": "https://a.example/", "headers": []}, "response": {"status": 200, "headers": [], "content": {}}}]}}
            """)
        #expect(imported.interactions.map(\.request.method) == [expected])
    }

    @Test(arguments: [
        #"""
        {"interactions": [{"request": {"body": null, "headers": {}, "method": "GET", "uri": "https://a.example/"},
        "response": {"body": BODY, "headers": {}, "status": {"code": 200, "message": "OK"}}}], "version": 1}
        """#,
        """
        interactions:
        - request: {body: null, headers: {}, method: GET, uri: 'https://a.example/'}
          response: {body: BODY, headers: {}, status: {code: 200, message: OK}}
        version: 1
        """,
    ])
    func `A body of vcrpy is empty where its text is null or empty`(document: String) throws {
        let bodies = [
            (#"{"string": null}"#, ""), (#"{"string": ""}"#, ""), (#"{"string": null, "encoding": "utf-8"}"#, ""),
            ("null", ""), ("{}", ""), (#"{"string": "a"}"#, "a"), (#"{"base64_string": "YQ=="}"#, "a"),
            (#"{"string": "", "base64_string": "YQ=="}"#, "a"), (#"{"string": null, "base64_string": "YQ=="}"#, "a"),
        ]
        for (body, expected) in bodies {
            let imported = try read(document.replacing("BODY", with: body))
            #expect(imported.interactions[0].response?.body == RecordedBody(Data(expected.utf8)), "\(body)")
            #expect(imported.warnings == [])
        }
    }

    @Test(arguments: [
        ("{code: 0, status: ''}", nil, [ImportWarning.Kind.failure]), ("{code: 0}", nil, [.failure]),
        ("{}", nil, [.failure]),
        ("{code: 0, status: 'dial tcp: connection refused'}", "connectionRefused", []),
    ])
    func `An exchange of go-vcr without a status is a failure`(
        response: String, kind: String?, warnings: [ImportWarning.Kind]
    ) throws {
        let imported = try read(
            "--- {version: 2, interactions: [{request: {url: 'https://a.example/'}, response: \(response)}]}")
        #expect(imported.interactions.map { $0.response == nil } == [true])
        #expect(imported.interactions[0].failure?.kind == kind ?? "other")
        #expect(imported.warnings.map(\.kind) == warnings)
    }

    @Test(arguments: [1, 99, 1000, 99_999])
    func `An exchange whose status no response can have is left out, with a warning`(status: Int) throws {
        let imported = try read(
            """
            version: 1
            interactions:
            - request: {url: 'https://a.example/1', method: GET}
              response: {code: \(status), status: odd}
            - request: {url: 'https://a.example/2', method: GET}
              response: {code: 200, status: 200 OK}
            """)
        #expect(imported.interactions.map(\.request.url) == ["https://a.example/2"])
        #expect(imported.warnings.map(\.kind) == [.leftOut])
        #expect(imported.warnings.first?.place == "$.interactions[0], line 3")
    }

    @Test func `Vinyl is read with its errors`() throws {
        let imported = try read(
            #"[{"request": {"url": "http://a.example"}, "response": {"url": "http://a.example", "error": "The request timed out."}}]"#
        )
        #expect(imported.format == "Vinyl")
        #expect(imported.interactions[0].failure == RecordedFailure(kind: "timedOut", stage: .head))
        #expect(imported.interactions[0].response == nil)
    }

    @Test(
        arguments: [
            ("", nil, "empty"), ("  \n", nil, "empty"), ("{\"a\": 1,}", "line 1", "JSON"),
            ("{}", "$, line 1", "format is unknown"), ("[]", "$, line 1", "empty"),
            ("a: &b.c d", "line 1", "character"), ("PK\u{3}\u{4}", nil, "zip"),
            ("{\"log\": {}}", "$.log.entries, line 1", "entries"),
            ("{\"log\": {\"entries\": [{\"request\": {}}]}}", "$.log.entries[0].request.url, line 1", "URL"),
            ("http_interactions: 1", "$.http_interactions, line 1", "list"),
            ("{\"interactions\": [], \"cassette\": 1}", "$, line 1", "Decorum"),
            ("http_interactions:\n- request: {uri: x}\n", "$.http_interactions[0], line 2", "response"),
            (
                "- !ruby/struct:VCR::HTTPInteraction\n  request: !ruby/struct:VCR::Request\n    method: :get\n",
                "$[0], line 1", "VCR 1"
            ),
            ("- request: !!python/object:vcr.request.Request {host: a}\n", "$[0], line 1", "1.0"),
            ("just text", "$, line 1", "format is unknown"),
            ("[{\"scope\": \"x\", \"status\": []}]", "$[0], line 1", "status"),
            ("[{\"snapshot\": {\"request\": {}}}]", "$[0].snapshot, line 1", "response"),
            ("{\"version\": 2,\n\"interactions\":\n{\"a\": 1}}", "$.interactions, line 3", "list"),
            ("{\n\"log\": x", "line 2", "JSON"), ("[\n\n{\"a\": 1}]", "$[0], line 3", "format"),
            ("a: b\nc: [", "line 3", "node"),
        ] as [(String, String?, String)])
    func `A file that cannot be read fails with its name, the place and the cause`(
        document: String, place: String?, reason: String
    ) {
        let error = #expect(throws: CassetteImportError.self) { try read(document) }
        #expect(error?.place == place)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
        #expect(error?.description.hasPrefix("feed cannot be imported") == true)
    }

    /// What the independent reader of `ForeignCassetteTests` does not tell about a file by hand.
    @Test(
        arguments: [
            ("vcr/charsets.yml", "VCR", [.placeholder, .placeholder]),
            ("betamax/statuses.json", "betamax", [.damagedBody]),
            ("vcrpy/objects.yaml", "vcrpy", [.missingBody, .rebuiltBody]),
            ("dvr/types.json", "DVR", [.redirected, .rebuiltBody, .rebuiltBody, .storageEncoding]),
            ("undici/damaged.json", "undici", [.damagedBody, .joinedField, .joinedField]),
            ("har/invalid.har", "HAR", [.leftOut, .invalidField, .rebuiltBody]),
        ] as [(String, String, [ImportWarning.Kind])])
    func `A file has a format, and a warning for each defect`(
        file: String, format: String, warnings: [ImportWarning.Kind]
    ) throws {
        let imported = try byHand(file)
        #expect(imported.format == format)
        #expect(imported.warnings.map(\.kind) == warnings)
    }

    @Test func `Dates, reasons, codings and trailers are read`() throws {
        let dates: [(String, Double)] = [
            ("vcr/charsets.yml", 1_787_150_055), ("betamax/statuses.json", 1_397_248_230),
            ("vcr/schemathesis.yaml", 1_795_168_800.5), ("polly/stream.har.yaml", 1_795_168_800),
        ]
        for (file, date) in dates {
            #expect(try byHand(file).interactions[0].recordedAt == Date(timeIntervalSince1970: date), "\(file)")
        }
        let reasons = [
            ("vcr/r.yml", "Not Found"), ("go-vcr/first.yaml", "Service Unavailable"),
            ("go-vcr/bytes.yaml", "Not Found"),
        ]
        for (file, reason) in reasons {
            #expect(try byHand(file).interactions[0].response?.reason == reason, "\(file)")
        }
        let omitted = try #require(try byHand("go-vcr/omitted.yaml").interactions[0].response)
        #expect(omitted.coding == "gzip" && omitted.trailers.first?.value == "u")
        #expect(try byHand("vcr/charsets.yml").interactions[0].response?.coding == "gzip")
        #expect(try byHand("vcrpy/objects.yaml").interactions[2].response?.body.exactness == .reserialized)
        #expect(try byHand("betamax/statuses.json").exactness == .lossy)
        #expect(try byHand("dvr/types.json").exactness == .reserialized)
    }

    @Test(arguments: [
        ("\n      buf: !!python/str \"\\xE4\"\n      buflist: []\n      len: 2", "ä"),
        ("\n      buf: a\n      buflist: [b, 'c']\n      pos: 3", "abc"), (" {buf: '', buflist: []}", ""),
    ])
    func `A file object of Python 2 is what it held when it was sent`(members: String, expected: String) throws {
        let imported = try read(
            """
            interactions:
            - request:
                body: !!python/object:StringIO.StringIO\(members)
                method: POST
                uri: https://a.example/
              response: {status: {code: 200, message: OK}, body: {string: ''}}
            """)
        #expect(imported.interactions[0].request.body == RecordedBody(Data(expected.utf8)))
        #expect(imported.warnings == [])
    }

    @Test(
        arguments: [
            ("application/octet-stream", "\"00ff\"", [0, 0xFF]),
            ("application/octet-stream", "\"6162\"", Array("6162".utf8)),
            ("text/plain", "\"00ff\"", Array("00ff".utf8)), ("image/png", "\"00fg\"", Array("00fg".utf8)),
            ("application/json", "null", Array("null".utf8)), ("text/plain", "null", []),
        ] as [(String, String, [UInt8])])
    func `nock writes bytes that were sent in hexadecimal, and null as a value`(
        type: String, body: String, expected: [UInt8]
    ) throws {
        let imported = try read(
            #"[{"scope": "http://a.example", "method": "POST", "path": "/", "body": \#(body), "status": 200, "reqheaders": {"content-type": "\#(type)"}, "response": ""}]"#
        )
        #expect(imported.interactions[0].request.body.bytes == Data(expected))
    }

    @Test(arguments: [
        ("HEAD", 200, 120, ""), ("GET", 204, 2, ""), ("GET", 304, 2, ""), ("GET", 200, 0, ""), ("GET", 200, 22, "[]"),
    ])
    func `Polly.js writes no chunks where coded content is missing`(
        method: String, status: Int, size: Int, expected: String
    ) throws {
        let imported = try read(
            #"""
            {"log": {"version": "1.2", "creator": {"name": "Polly.JS", "version": "6.0.6"}, "entries": [{
            "request": {"method": "\#(method)", "url": "https://a.example/", "headers": []},
            "response": {"status": \#(status), "headers": [{"name": "content-encoding", "value": "gzip"}],
            "content": {"mimeType": "application/json", "size": \#(size), "encoding": "base64", "text": "[]"}}}]}}
            """#)
        #expect(imported.format == "Polly.js")
        #expect(imported.interactions[0].response?.body.bytes == Data(expected.utf8))
        #expect(imported.warnings.isEmpty == expected.isEmpty)
    }

    @Test(arguments: [
        ("deflate", #"[\"S0xKBgA=\"]"#, "abc"),
        ("gzip", #"[\"eyJhIjox\",\"fQ==\"]"#, #"{"a":1}"#), ("gzip", #"[\"abcd\",\"wxyz\"]"#, #"["abcd","wxyz"]"#),
    ])
    func `Chunks of Polly.js are distinguished from a list of texts where their coding has no magic number`(
        coding: String, text: String, expected: String
    ) throws {
        let imported = try read(
            #"""
            {"log": {"version": "1.2", "creator": {"name": "Polly.JS", "version": "6.0.6"}, "entries": [{
            "request": {"method": "GET", "url": "https://a.example/", "headers": []},
            "response": {"status": 200, "headers": [{"name": "content-encoding", "value": "\#(coding)"}],
            "content": {"mimeType": "application/json", "encoding": "base64", "text": "\#(text)"}}}]}}
            """#)
        #expect(try imported.decodingContent().interactions[0].response?.body.bytes == Data(expected.utf8))
    }

    @Test(arguments: [("Content-Encoding", [0x1F, 0x8B, 0xFF]), ("Accept-Encoding", Array("H4v/".utf8))])
    func `Replay writes coded text of a request in base64 too`(name: String, expected: [UInt8]) throws {
        let imported = try read(
            #"""
            {"log": {"version": "1.2", "creator": {"name": "Replay/1.0", "version": "1.0"}, "entries": [{
            "request": {"method": "POST", "url": "https://a.example/", "headers": [{"name": "\#(name)", "value": "gzip"}],
            "postData": {"mimeType": "application/json", "text": "H4v/"}}, "response": {"status": 200, "headers": []}}]}}
            """#)
        #expect(imported.format == "Replay")
        #expect(imported.interactions[0].request.body.bytes == Data(expected))
    }

    @Test(
        arguments: [
            ("{encoding: Windows-1252, string: '€'}", [0x80]), ("{encoding: Shift_JIS, string: あ}", [0x82, 0xA0]),
            ("{encoding: EUC-JP, string: 日本ｱ~}", [0xC6, 0xFC, 0xCB, 0xDC, 0x8E, 0xB1, 0x7E]),
            ("{encoding: eucJP-ms, string: 腕ん}", [0xCF, 0xD3, 0xA4, 0xF3]),
            ("{encoding: Big5, string: 中文}", [0xA4, 0xA4, 0xA4, 0xE5]),
            ("{encoding: GB2312, string: 中文}", [0xD6, 0xD0, 0xCE, 0xC4]),
            ("{encoding: EUC-KR, string: 한글}", [0xC7, 0xD1, 0xB1, 0xDB]),
            ("{encoding: KOI8-R, string: Да}", [0xE4, 0xC1]), ("{encoding: ISO-8859-5, string: Да}", [0xB4, 0xD0]),
            ("{encoding: ISO-8859-7, string: α}", [0xE1]), ("{encoding: ISO-8859-15, string: €}", [0xA4]),
            ("{encoding: IBM866, string: Да}", [0x84, 0xA0]), ("{encoding: Windows-1255, string: א}", [0xE0]),
            ("{encoding: US-ASCII, string: a}", [0x61]), ("{encoding: BINARY, string: ä}", [0xC3, 0xA4]),
            ("{encoding: ASCII-8BIT, string: ä}", [0xC3, 0xA4]), ("{encoding: UTF-8, string: null}", []),
            ("{encoding: UTF-8, string: ! 'a'}", [0x61]), ("{encoding: UTF-8, string: !binary w6Q=}", [0xC3, 0xA4]),
            ("{encoding: ISO-8859-1, base64_string: 5A==}", [0xE4]), ("a bare string", Array("a bare string".utf8)),
            ("null", []),
        ] as [(String, [UInt8])])
    func `A body of VCR is its text in its encoding, or its base64`(body: String, expected: [UInt8]) throws {
        let imported = try read(
            """
            http_interactions:
            - request: {method: get, uri: 'https://a.example/', headers: null}
              response: {status: {code: 200, message: null}, http_version: null, headers: {A: []}, body: \(body)}
            """)
        #expect(imported.interactions[0].response?.body == RecordedBody(Data(expected)))
        #expect(imported.warnings == [])
    }

    @Test func `A character that EUC-JP lacks is kept as UTF-8, with a warning`() throws {
        let imported = try read(
            """
            http_interactions:
            - request: {method: get, uri: 'https://a.example/'}
              response: {status: {code: 200}, body: {encoding: EUC-JP, string: a€}}
            """)
        #expect(imported.interactions[0].response?.body == RecordedBody(Data("a€".utf8), exactness: .lossy))
        #expect(imported.warnings.map(\.kind) == [.charset])
    }

    @Test(arguments: [
        (#""headers": {"Content-Type": "application/vnd.x+json"}, "body": "e30=""#, "{}"),
        (#""headers": {"Content-Type": "application/vnd.x+json"}, "body": {"a": [1e5, 1.0]}"#, #"{"a":[1e5,1.0]}"#),
        (#""headers": {"Content-Type": "application/json; charset=utf-8"}, "body": "[\"a\"]""#, #"["a"]"#),
        (#""headers": {"Content-Type": "application/json"}, "body": "a""#, #""a""#),
        (#""headers": {"Content-Type": "text\/html"}, "body": "<\/p>""#, "</p>"), (#""headers": {}"#, ""),
    ])
    func `A body of DVR is base64 unless its type says otherwise`(members: String, expected: String) throws {
        let imported = try read(
            #"{"name": "x", "interactions": [{"recorded_at": 1, "request": {"url": "http:\/\/a.example"}, "response": {"url": "http:\/\/a.example", "status": 201, \#(members)}}]}"#
        )
        #expect(imported.format == "DVR")
        #expect(imported.interactions[0].request.url == "http://a.example")
        #expect(imported.interactions[0].response?.body.bytes == Data(expected.utf8))
    }

    @Test func `undici writes the name of an object in place of its bytes`() throws {
        let imported = try read(
            #"[{"snapshot": {"request": {"url": "http://a.example/", "body": "[object Object]"}, "responses": [{"statusCode": 204}]}}]"#
        )
        #expect(imported.warnings.map(\.kind) == [.damagedBody])
        #expect(imported.interactions[0].response?.body == RecordedBody())
    }

    @Test func `A file may be compressed with gzip`() throws {
        let base64 =
            "H4sIAAAAAAACAx2MQQqAIBBFrxKzjpSWXiVauPhUYGrOCIHM3TNX/8F7/EYhHeSmRohSLnDnrVHBU8EyRC2hL50imZ0xfsHr7xxgSOepl5xTZIyUxUv9L1ZrVXfVDyifF79fAAAA"
        let imported = try ImportedCassette(
            try #require(Data(base64Encoded: base64)), named: "feed.har.gz", formats: .known)
        #expect(imported.interactions.map(\.request.url) == ["https://a.example/"])
    }

    @Test(
        arguments: [
            ([0xFF, 0xFE, 0x7B, 0], "UTF-16"),
            (Array("version https://git-lfs.github.com/spec/v1\n".utf8), "`git lfs pull`"),
            (Array("- request: {method: GET, url: x}\n  response: {status: {code: 404}}\n".utf8), "php-vcr"),
            (Array(#"[{"request": {"host": "a"}}]"#.utf8), "vcrpy"), (Array("a: b\n---\nc: d".utf8), "document"),
        ] as [([UInt8], String)])
    func `An unsupported format is refused by its name`(document: [UInt8], name: String) {
        let error = #expect(throws: CassetteImportError.self) {
            try ImportedCassette(Data(document), named: "feed", formats: .known)
        }
        #expect(error?.reason.contains(name) == true, "\(error?.reason ?? "")")
    }

    @Test func `A warning names the line of the exchange and of the value`() throws {
        let imported = try read(
            """
            {"log": {"entries": [
            {
              "request": {
                "url": "https://a.example/",
                "headers": [
                  {"name": "a b", "value": "c"}
                ]
              },
              "response": {"status": 200,
                "content": {
                  "text": "-", "encoding": "base64"}}
            },
            {"request": {"url": "https://a.example/"},
             "response": {"status": 99999}},
            {"request": {"url": "https://a.example/"},
             "response":
               {"status": 0, "_error": "no such reason"}}
            ]}}
            """)

        #expect(
            imported.warnings.map(\.place) == [
                "$.log.entries[0].request.headers, line 5", "$.log.entries[0].response.content.text, line 11",
                "$.log.entries[1], line 13", "$.log.entries[2].response, line 17",
            ])
        #expect(imported.warnings.map(\.line) == [5, 11, 13, 17])
    }

    @Test func `A warning about content names the line of its exchange`() throws {
        let imported = try read(
            """
            {"version": 2, "interactions": [
            {"request": {"url": "https://a.example/"}, "response": {"code": 200}},
            {"request": {"url": "https://a.example/"},
             "response": {"code": 200, "headers": {"Content-Encoding": "br"}, "body": "text"}}]}
            """)

        var decoded = try imported.decodingContent()
        #expect(decoded.warnings.map(\.place) == ["$.interactions[1], line 3"])
        #expect(decoded.warnings.map(\.line) == [3])

        decoded = imported
        decoded.interactions.removeFirst()
        #expect(try decoded.decodingContent().warnings.map(\.place) == ["interaction 1"])
    }

    private func byHand(_ file: String) throws -> ImportedCassette {
        try ImportedCassette(contentsOf: Fixtures.url("cassettes/by-hand/\(file)"), formats: .known)
    }

    private func read(_ document: String) throws -> ImportedCassette {
        try ImportedCassette(Data(document.utf8), named: "feed", formats: .known)
    }
}
#endif
