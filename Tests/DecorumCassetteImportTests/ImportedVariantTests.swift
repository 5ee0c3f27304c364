#if CassetteImport
import DecorumCassetteImport
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Rare forms of recorders' files, in small samples.
@Suite struct ImportedVariantTests {
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

    @Test func `Schemathesis writes more about each exchange than VCR does`() throws {
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/vcr/schemathesis.yaml"), formats: .known)

        #expect(imported.format == .vcr)
        #expect(imported.interactions[0].request.body.bytes == Data("a=1".utf8))
        #expect(imported.interactions[0].response?.status == 500)
        #expect(imported.interactions[0].recordedAt == Date(timeIntervalSince1970: 1_795_168_800.5))
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

        #expect(imported.format == .dvr)
        #expect(imported.interactions[0].request.url == "http://a.example")
        #expect(imported.interactions[0].response?.body.bytes == Data(expected.utf8))
    }

    @Test func `A request of vcrpy may have a value too, and its JSON has the version first`() throws {
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/vcrpy/values.json"), formats: .known)

        #expect(imported.format == .vcrpy)
        #expect(imported.interactions[0].request.body.bytes == Data(#"{"a":[1e5]}"#.utf8))
        #expect(imported.interactions[0].request.fields.first?.value == "b")
        #expect(imported.interactions[0].response?.fields[values: .setCookie] == ["a", "b"])
    }

    @Test func `Invalid fields and exchanges of an archive are left out`() throws {
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/har/invalid.har"), formats: .known)

        let request = imported.interactions[0].request
        #expect(request.fields.map { [$0.name.rawName, $0.value] } == [["A", "b"]])
        let head = "--x\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n"
        #expect(request.body.bytes == Data(head.utf8) + Data([0xFF, 0]) + Data("\r\n--x--\r\n".utf8))
        #expect(imported.warnings.map(\.kind) == [.leftOut, .invalidField, .rebuiltBody])
    }

    @Test func `go-vcr writes what is rare in quotes and what is no text in base64`() throws {
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/go-vcr/bytes.yaml"), formats: .known)

        #expect(imported.format == .goVCR2)
        #expect(imported.interactions[0].request.body.bytes == Data([0x61, 0, 0x62]))
        #expect(imported.interactions[0].response?.body.bytes == Data([0, 1, 0xFF]))
        #expect(imported.interactions[0].response?.reason == "Not Found")
        #expect(imported.interactions[0].response?.coding == nil)
    }

    @Test func `undici writes the name of an object in place of its bytes`() throws {
        let imported = try read(
            #"[{"snapshot": {"request": {"url": "http://a.example/", "body": "[object Object]"}, "responses": [{"statusCode": 204}]}}]"#
        )

        #expect(imported.warnings.map(\.kind) == [.damagedBody])
        #expect(imported.interactions[0].response?.body == RecordedBody())
    }

    @Test func `nock of today has fields in an object, and coded content of requests in chunks`() throws {
        let imported = try ImportedCassette(
            contentsOf: Fixtures.url("cassettes/by-hand/nock/objects.json"), formats: .known)

        #expect(imported.interactions[0].request.body.bytes == Data([0x1F, 0x8B, 8]))
        #expect(imported.interactions[0].response?.fields.map(\.value) == ["application/json", "a", "b"])
        #expect(imported.interactions[0].response?.body.bytes == Data(#"[{"a":1}]"#.utf8))
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

    private func read(_ document: String) throws -> ImportedCassette {
        try ImportedCassette(Data(document.utf8), named: "feed", formats: .known)
    }
}
#endif
