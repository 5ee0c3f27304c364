#if CassetteImport
import DecorumCassetteImport
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Files of other releases of a recorder, and of recorders that adopted its format.
@Suite struct ImportedDialectTests {
    @Test func `VCR for R has another name for the status, and single values for fields`() throws {
        let imported = try ImportedCassette(contentsOf: Fixtures.url("cassettes/by-hand/vcr/r.yml"), formats: .known)

        #expect(imported.format == .vcr)
        let response = imported.interactions[0].response
        #expect(response?.status == 404)
        #expect(response?.reason == "Not Found")
        #expect(response?.fields[values: .setCookie] == ["a=1", "b=2"])
        #expect(response?.body == RecordedBody(Data("onetwo".utf8)))
        #expect(imported.interactions[0].request.fields[.accept] == "*/*")
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

        #expect(imported.format == .polly)
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

    @Test func `An archive of Polly.js may be YAML, and its header values lists`() throws {
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/polly/stream.har.yaml"), formats: .known)

        #expect(imported.format == .polly)
        #expect(imported.interactions[0].request.fields.map(\.value) == ["*/*", "text/plain"])
        #expect(
            imported.interactions[0].request.body.bytes
                == Data(#"{"query":"\nquery {\n  a\n}","variables":{"n":1}}"#.utf8))
        #expect(
            imported.interactions[0].response?.body.bytes == Data("data: one\n\ndata: two and more\n\n\n".utf8))
        #expect(imported.interactions[0].recordedAt == Date(timeIntervalSince1970: 1_795_168_800))
    }

    @Test(arguments: [("Content-Encoding", [0x1F, 0x8B, 0xFF]), ("Accept-Encoding", Array("H4v/".utf8))])
    func `Replay writes coded text of a request in base64 too`(name: String, expected: [UInt8]) throws {
        let imported = try read(
            #"""
            {"log": {"version": "1.2", "creator": {"name": "Replay/1.0", "version": "1.0"}, "entries": [{
            "request": {"method": "POST", "url": "https://a.example/", "headers": [{"name": "\#(name)", "value": "gzip"}],
            "postData": {"mimeType": "application/json", "text": "H4v/"}}, "response": {"status": 200, "headers": []}}]}}
            """#)

        #expect(imported.format == .replay)
        #expect(imported.interactions[0].request.body.bytes == Data(expected))
    }

    private func read(_ document: String) throws -> ImportedCassette {
        try ImportedCassette(Data(document.utf8), named: "feed", formats: .known)
    }
}
#endif
