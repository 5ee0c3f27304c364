#if CassetteImport
import Decorum
import DecorumArchive
import DecorumCassetteImport
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

    /// Messages with 70,000 fields, in each format and each place that has some.
    static let messages: [(name: String, document: String)] = {
        let many = 70_000
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
        func dvr(_ request: String, _ response: String) -> String {
            #"{"name":"x","interactions":[{"request":{"url":"https://a.example/"\#(request)},"response":{"status":200\#(response)}}]}"#
        }
        return [
            ("aliases of YAML", aliases), ("a request of HAR", har(#""headers":[\#(pairs)],"#)),
            ("a response of HAR", har("", #""headers":[\#(pairs)],"#)),
            ("an object of HAR", har(#""headers":{"a":[\#(values)]},"#)),
            ("lines in one value of HAR", har(#""headers":[{"name":"a","value":"\#(lines)"}],"#)),
            (
                "joined cookies of Safari",
                har("", #""headers":[{"name":"Set-Cookie","value":"\#(cookies)"}],"#, creator: "WebKit")
            ),
            ("trailers of an archive of ours", har("", "", #""_cassette":{"trailers":[\#(tuples)]},"#)),
            ("trailers of a request of ours", har("", "", #""_cassette":{"requestTrailers":[\#(tuples)]},"#)),
            ("an interim response of ours", har("", "", #""_cassette":{"informational":[[103,[\#(tuples)]]]},"#)),
            ("a request of DVR", dvr(#","headers":{"a":[\#(values)]}"#, "")),
            ("a response of DVR", dvr("", #","headers":{"a":[\#(values)]}"#)),
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
            (
                "betamax",
                #"{"recorded_with":"betamax/0.8","http_interactions":[{"request":{"uri":"https://a.example/","headers":{"a":[\#(values)]}},"response":{"status":{"code":200}}}]}"#
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

    @Test func `The YAML that ended the process is small`() {
        #expect(Self.aliases.utf8.count < 3151)
    }

    @Test func `As many fields as the limit allows are read, and the limit is the caller's`() throws {
        let values = Array(repeating: #""b""#, count: 1001).joined(separator: ",")
        let document = Data(
            #"{"name":"x","interactions":[{"request":{"url":"https://a.example/","headers":{"a":[\#(values)]}},"response":{}}]}"#
                .utf8)

        #expect(throws: CassetteImportError.self) { try ImportedCassette(document, named: "feed", formats: .known) }
        let imported = try ImportedCassette(document, named: "feed", formats: .known, limits: ImportLimits(fieldCount: 1001))

        #expect(imported.interactions[0].request.fields.count == 1001)
    }

    @Test func `A cassette with too many fields is a failure of the test that opens it`() throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.aliases, to: "feed.yml")

        #expect(throws: CassetteImportError.self) { try Cassette(at: folder.path("feed.yml"), mode: .replay) }
    }
}

extension ImportLimitTests {
    /// A gzip stream of a million zeros, in a thousand bytes.
    private static let zeros: String = {
        (try? Data(count: 1 << 20).coded(.gzip))?.base64EncodedString() ?? ""
    }()

    private static func archive(_ count: Int, creator: String, content: String) -> Data {
        let entry =
            #"{"request":{"url":"https://a.example/"},"response":{"status":200,"headers":[{"name":"content-encoding","value":"gzip"}],"content":{\#(content)}}}"#
        let entries = Array(repeating: entry, count: count).joined(separator: ",")
        return Data(#"{"log":{"creator":{"name":"\#(creator)"},"entries":[\#(entries)]}}"#.utf8)
    }

    @Test func `The contents of a file share one limit on the bytes that they decode to`() throws {
        let document = Self.archive(40, creator: "x", content: #""text":"\#(Self.zeros)","encoding":"base64""#)
        #expect(document.count < 128 << 10)
        let limits = ImportLimits(contentLength: 33 << 20)
        let imported = try ImportedCassette(document, named: "feed.har", formats: .known, limits: limits)

        let error = #expect(throws: CassetteImportError.self) { try imported.decodingContent() }

        #expect(error?.reason == "its contents have more than 34603008 bytes once their encodings are undone")
        #expect(error?.place == "$.log.entries[32], line 1")
        let other = try ImportedCassette(document, named: "feed.har", formats: .known)
        #expect(try other.decodingContent().interactions.last?.response?.body.bytes.count == 1 << 20)
    }

    @Test func `Without limits of the caller, a file of a few megabytes decodes to half a gigabyte and no more`() throws
    {
        let zeros = try Data(count: 128 << 20).coded(.gzip).base64EncodedString()
        let document = Self.archive(20, creator: "x", content: #""text":"\#(zeros)","encoding":"base64""#)
        #expect(document.count < 4 << 20)
        let imported = try ImportedCassette(document, named: "feed.har", formats: .known)

        let error = #expect(throws: CassetteImportError.self) { try imported.decodingContent() }

        #expect(error?.place == "$.log.entries[3], line 1")
    }

    @Test func `A cassette in a zip archive of some kilobytes is refused behind half a gigabyte`() throws {
        let folder = try TemporaryFolder()
        let document = Self.archive(4, creator: "x", content: #""_file":"a.bin""#)
        let content = Data(repeating: 0x80, count: 128 << 20)
        let zipped = try Data.zipped([("feed.har", document), ("a.bin", content)])
        #expect(zipped.count < 1 << 20)
        try zipped.write(to: folder.url.appending(path: "feed.har.zip"))

        let error = #expect(throws: CassetteImportError.self) {
            try Cassette(at: folder.path("feed.har.zip"), mode: .replay)
        }

        #expect(error?.reason == "its contents have more than 536870912 bytes once their encodings are undone")
        #expect(error?.place == "$.log.entries[3].response.content._file, line 1")
    }

    @Test func `A cassette of VCR for R is refused where its files have more than half a gigabyte`() throws {
        let folder = try TemporaryFolder()
        try Data().write(to: folder.url.appending(path: "a.bin"))
        let handle = try FileHandle(forWritingTo: folder.url.appending(path: "a.bin"))
        // What was never written takes no space on the disk.
        try handle.truncate(atOffset: 200 << 20)
        try handle.close()
        let exchange =
            "- {request: {uri: x}, response: {status: {code: 200}, body: {file: yes, string: a.bin}}}\n"
        try folder.write("http_interactions:\n" + String(repeating: exchange, count: 3), to: "feed.yml")

        let error = #expect(throws: CassetteImportError.self) {
            try Cassette(at: folder.path("feed.yml"), mode: .replay)
        }

        #expect(error?.reason == "its contents have more than 536870912 bytes once their encodings are undone")
        #expect(error?.place == "$.http_interactions[2].response.body.string, line 4")
    }

    @Test func `Attempts count that decode nothing`() throws {
        // It begins as gzip does, so that each content is tried.
        let document = Self.archive(2000, creator: "x", content: #""text":"H4sIAP8=","encoding":"base64""#)
        let imported = try ImportedCassette(document, named: "x", formats: .known, limits: ImportLimits(contentLength: 4 << 20))

        #expect(throws: CassetteImportError.self) { try imported.decodingContent() }
    }

    @Test func `Chunks that Polly.js may have coded count as well`() throws {
        // Without a magic number in its first chunk, the content is decoded to find out whether it is coded at all.
        let zlib = try Data(count: 1 << 20).coded(.deflate).dropFirst(2).base64EncodedString()
        let entry =
            #"{"request":{"url":"https://a.example/"},"response":{"status":200,"headers":[{"name":"content-encoding","value":"deflate"}],"content":{"text":"[\"\#(zlib)\"]","encoding":"base64"}}}"#
        let entries = Array(repeating: entry, count: 40).joined(separator: ",")
        let document = Data(#"{"log":{"creator":{"name":"Polly.JS"},"entries":[\#(entries)]}}"#.utf8)

        #expect(throws: Never.self) { try ImportedCassette(document, named: "x", formats: .known) }
        #expect(throws: CassetteImportError.self) {
            try ImportedCassette(document, named: "x", formats: .known, limits: ImportLimits(contentLength: 8 << 20))
        }
    }

    @Test func `A file beside the archive counts each time that it is read`() throws {
        let folder = try TemporaryFolder()
        try Data(count: 1 << 20).write(to: folder.url.appending(path: "a.bin"))
        let document = Self.archive(20, creator: "x", content: #""_file":"a.bin""#)

        #expect(throws: CassetteImportError.self) {
            try ImportedCassette(
                document, named: "x", folder: folder.url, formats: .known, limits: ImportLimits(contentLength: 8 << 20))
        }
        #expect(throws: Never.self) { try ImportedCassette(document, named: "x", folder: folder.url, formats: .known) }
    }

    @Test(arguments: ["[],", "0,", #"{"":0},"#, "[[]],"])
    func `A compressed run of small values is refused before it fills the memory`(value: String) throws {
        let block = Data(repeatElement(Data(value.utf8), count: 4096).joined())
        let run = Data("[".utf8) + Data(repeatElement(block, count: 50).joined()) + Data("0]".utf8)
        let file = try run.coded(.gzip)
        #expect(file.count < 32 << 10)

        let error = #expect(throws: CassetteImportError.self) {
            try ImportedCassette(file, named: "x", formats: .known, limits: ImportLimits(valueCount: 200_000))
        }

        #expect(error?.reason.contains("too many values") == true)
        // The same values without a limit are a list of a format that is not known.
        let other = #expect(throws: CassetteImportError.self) {
            try ImportedCassette(file, named: "x", formats: .known, limits: ImportLimits(valueCount: 2_000_000))
        }
        #expect(other?.reason.contains("format") == true)
    }
}
#endif
