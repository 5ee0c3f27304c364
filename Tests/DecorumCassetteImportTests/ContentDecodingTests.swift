#if CassetteImport
import DecorumArchive
import DecorumCassetteImport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

@Suite struct ContentDecodingTests {
    private static let text = "{\"a\":\"" + String(repeating: "hello world ", count: 30) + "\"}"
    private static let gzip =
        "H4sIAAAAAAACA6tWSlSyUspIzcnJVyjPL8pJURhl046tVAsAIuL/Y3ABAAA="
    private static let zlib = "eJyrVkpUslLKSM3JyVcozy/KSVEYZdOOrVQLADdbiKQ="
    private static let raw = "q1ZKVLJSykjNyclXKM8vyklRGGXTjq1UCwA="
    private static let dynamic = """
        eNoNU7cNACEM7JkCUVOQDd6GZMArIHb/Ly05Xdo8nvGz92oio2o7RHEU6XFW1RkPnkXM+YkOspiwafvTddRcOV1WYVkLbB1tPhpbby6fELO/cpbV7crZ
        HRL2JZnjkkO3u49KsIckdrWJ2/kVWSXLqbKFojvDcjyPAZKpiuZIIApOwy27RmvtEZQJLfq0ZRs6sLJ5+bWd9W1bt7PVf9naOTsste2Zssk0kskZ72ve
        /F8lklw8ZqltWBkLHml8P7msZmCqUxrd7JJ/xiysiyqcYVCh2bEtKiB1VOiDq71dGD4eULOJrkJlLXTv0f1zbLbyZvQBKIK1V7meV2bt7cBIguhO6eWJ
        9VLNPOLweMGHHrZlsRXlWhrI6DBxQAfgzDwKRJHTdpgFgVishKJA7yaTzOLntEINSncUqAdR8iV1NSj78jagLnwNbH/3f+DJmINDE4yW7Gyqh6K7EbQw
        BuoM3WUByF0dv7MH1efuPBsZTAXijaf+ZlBjNdnHaZkhX3oz23lfj+LWF2ewc/GPyBCdYGJhI8k0W0+pjLPTAF33jtXfSNq9W+7foENaw4PgrC28pvM6
        CUti9FlL1H3LUe5PTPCi020+RA13t1W6RJiXR9A66No3HKiv/cvn+tE+odlkMI2s/4UKHC/jutdKWtXbI38baSsVrHPCH4YDXPIEJTsS9LtOWdmrkWV1
        aVHfQY+BklMq8/VC91WlkMo67be6fL9QROq3IZVWzi1F+7FwGg/RR/kHwuimGk2xeYsPsTMBOQ==
        """

    @Test(arguments: [("gzip", gzip), ("deflate", zlib), ("deflate", raw), ("gzip, identity", gzip), ("X-GZIP", gzip)])
    func `Coded content is decoded, and its fields no longer say that it is coded`(coding: String, base64: String)
        throws
    {
        let imported = try read(
            [("Content-Encoding", coding), ("Content-Length", "40"), ("Transfer-Encoding", "chunked")], base64)
        let response = try #require(imported.decodingContent().interactions[0].response)
        #expect(response.body.bytes == Data(Self.text.utf8))
        #expect(
            response.fields.map { [$0.name.rawName, $0.value] } == [["Content-Length", "\(Self.text.utf8.count)"]])
        #expect(response.coding == coding.lowercased())
        #expect(imported.interactions[0].response?.fields.count == 3)
        #expect(try imported.decodingContent().warnings == [])
    }

    @Test func `Content that had been decoded before loses the field that says otherwise`() throws {
        let imported = try read([("Content-Encoding", "br")], Data("text".utf8).base64EncodedString()).decodingContent()
        #expect(imported.interactions[0].response?.coding == "br")
        #expect(imported.interactions[0].response?.fields == [:])
        #expect(imported.interactions[0].response?.body.bytes == Data("text".utf8))
        #expect(imported.warnings.map(\.kind) == [.contentCoding])
    }

    @Test(arguments: ["identity", "Identity, identity"])
    func `Content in no coding loses the field that says so`(coding: String) throws {
        let body = Data([0x1F, 0x8B, 0xFF])
        let imported = try read([("Content-Encoding", coding)], body.base64EncodedString()).decodingContent()
        #expect(imported.interactions[0].response?.fields == [:])
        #expect(imported.interactions[0].response?.body.bytes == body)
        #expect(imported.interactions[0].response?.coding == nil)
        #expect(imported.warnings == [])
    }

    @Test(arguments: ["br", "zstd", "gzip", "gzip, br", "unheard-of"])
    func `Content in a coding that cannot be undone stays as it is`(coding: String) throws {
        let magic: [UInt8] = coding == "zstd" ? [0x28, 0xB5, 0x2F, 0xFD] : [0x1F, 0x8B, 0xFF, 0xFE]
        let imported = try read([("Content-Encoding", coding)], Data(magic).base64EncodedString()).decodingContent()
        #expect(imported.interactions[0].response?.body.bytes == Data(magic))
        #expect(imported.interactions[0].response?.fields.first?.value == coding)
        #expect(imported.interactions[0].response?.coding == nil)
        #expect(imported.warnings.map(\.kind) == [.contentCoding])
    }

    static let decoded: [(String, String)] = [
        (
            "HAR",
            #"{"log": {"entries": [{"request": {"url": "http://a.example/"}, "response": {"status": 200, "headers": HEADERS, "content": {"text": "BODY", "encoding": "base64"}}}]}}"#
        ),
        (
            "Replay",
            #"{"log": {"creator": {"name": "Replay/1.0"}, "entries": [{"request": {"url": "http://a.example/"}, "response": {"status": 200, "headers": HEADERS, "content": {"text": "BODY", "encoding": "base64"}}}]}}"#
        ),
        (
            "DVR",
            #"{"name": "x", "interactions": [{"request": {"url": "http://a.example/"}, "response": {"headers": HEADERS, "body": "BODY"}}]}"#
        ),
        (
            "Vinyl",
            #"[{"request": {"url": "http://a.example/"}, "response": {"status": 200, "headers": HEADERS, "body": "BODY"}}]"#
        ),
    ]

    @Test(arguments: decoded, ["br", "deflate", "gzip", "zstd", "unheard-of"])
    func `Content in a format without coded content is coded only if it begins so`(
        format: (name: String, document: String), coding: String
    ) throws {
        let bytes = Data([0, 0x61, 0x73, 0x6D, 1, 0, 0, 0, 0xFF])
        let found = try read(format.document, coding, bytes).decodingContent()
        #expect(found.format.description == format.name)
        #expect(found.interactions[0].response?.fields == [:])
        #expect(found.interactions[0].response?.body.bytes == bytes)
        #expect(found.interactions[0].response?.coding == coding)
    }

    @Test(arguments: decoded)
    func `Content that begins as its coding does is coded in any format`(
        format: (name: String, document: String)
    ) throws {
        for (coding, base64) in [("gzip", Self.gzip), ("deflate", Self.zlib)] {
            let coded = try #require(Data(base64Encoded: base64))
            let found = try read(format.document, coding, coded).decodingContent().interactions[0].response
            #expect(found?.body.bytes == Data(Self.text.utf8))
            #expect(found?.fields == [:])
        }
        let damaged: [(String, [UInt8])] = [
            ("zstd", [0x28, 0xB5, 0x2F, 0xFD, 0xFF]), ("deflate", [0x78, 0x9C, 0xFF, 0xFE]),
        ]
        for (coding, bytes) in damaged {
            let found = try read(format.document, coding, Data(bytes)).decodingContent().interactions[0].response
            #expect(found?.body.bytes == Data(bytes))
            #expect(found?.fields[.contentEncoding] == coding)
        }
    }

    @Test func `Archives of ours have the content that went through the connection`() throws {
        let response = RecordedResponse(
            status: 200, fields: [.contentEncoding: "br"], body: RecordedBody(Data([0x0B, 2, 0x80, 0xFF])))
        let interaction = Interaction(
            request: RecordedRequest(method: "GET", url: "https://a.example/"), response: response)
        let imported = try ImportedCassette(HAR([interaction]).document(), named: "x", formats: .known)
            .decodingContent()
        #expect(imported.interactions == [interaction])
    }

    @Test(arguments: [("HEAD", 200, 1), ("GET", 304, 1), ("GET", 200, 0)])
    func `A response without content keeps the field where it tells of another`(method: String, status: Int, count: Int)
        throws
    {
        let imported = try read([("Content-Encoding", "gzip")], "", method: method, status: status).decodingContent()
        #expect(imported.interactions[0].response?.fields.count == count)
    }

    @Test func `Any damage to a compressed file is found`() throws {
        let whole = try #require(Data(base64Encoded: Self.dynamic.filter { !$0.isNewline }))
        var generator = SeededDice(seed: 7)
        for _ in 0..<500 {
            var damaged = whole
            damaged[Int.random(in: 2..<damaged.count, using: &generator)] ^= UInt8(
                1 << Int.random(in: 0..<8, using: &generator))
            let error = #expect(throws: CassetteImportError.self) {
                try ImportedCassette(damaged, named: "x", formats: .known)
            }
            #expect(error?.reason.contains("compressed") == true)
        }
        for count in stride(from: 3, to: whole.count, by: 13) {
            #expect(throws: CassetteImportError.self) {
                try ImportedCassette(whole.prefix(count), named: "x", formats: .known)
            }
        }
    }

    private func read(_ document: String, _ coding: String, _ body: Data) throws -> ImportedCassette {
        let document = document.replacing("HEADERS", with: #"{"Content-Encoding": "\#(coding)"}"#)
            .replacing("BODY", with: body.base64EncodedString())
        return try ImportedCassette(Data(document.utf8), named: "x", formats: .known)
    }

    private func read(
        _ fields: [(String, String)], _ base64: String, method: String = "GET", status: Int = 200
    ) throws -> ImportedCassette {
        let headers = fields.map { "\"\($0)\": [\"\($1)\"]" }.joined(separator: ", ")
        let document = """
            {"http_interactions": [{"request": {"method": "\(method)", "uri": "http://a.example/"}, "response": {
            "status": {"code": \(status)}, "headers": {\(headers)}, "body": {"base64_string": "\(base64)"}}}]}
            """
        return try ImportedCassette(Data(document.utf8), named: "x", formats: .known)
    }
}
#endif
