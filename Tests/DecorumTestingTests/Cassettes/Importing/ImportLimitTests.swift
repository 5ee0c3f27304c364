import DecorumArchive
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Small files that would take the memory or the time of their reader.
@Suite(.serialized) struct ImportLimitTests {
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
        let imported = try ImportedCassette(document, named: "feed.har", limits: limits)
        let error = #expect(throws: CassetteImportError.self) { try imported.decodingContent() }
        #expect(error?.reason == "its contents have more than 34603008 bytes once their encodings are undone")
        #expect(error?.place == "$.log.entries[32], line 1")
        let other = try ImportedCassette(document, named: "feed.har")
        #expect(try other.decodingContent().interactions.last?.response?.body.bytes.count == 1 << 20)
    }

    @Test func `Attempts count that decode nothing`() throws {
        // It begins as gzip does, so that each content is tried.
        let document = Self.archive(2000, creator: "x", content: #""text":"H4sIAP8=","encoding":"base64""#)
        let imported = try ImportedCassette(document, named: "x", limits: ImportLimits(contentLength: 4 << 20))
        #expect(throws: CassetteImportError.self) { try imported.decodingContent() }
    }

    @Test func `Chunks that Polly.js may have coded count as well`() throws {
        // Without a magic number in its first chunk, the content is decoded to find out whether it is coded at all.
        let zlib = try Data(count: 1 << 20).coded(.deflate).dropFirst(2).base64EncodedString()
        let entry =
            #"{"request":{"url":"https://a.example/"},"response":{"status":200,"headers":[{"name":"content-encoding","value":"deflate"}],"content":{"text":"[\"\#(zlib)\"]","encoding":"base64"}}}"#
        let entries = Array(repeating: entry, count: 40).joined(separator: ",")
        let document = Data(#"{"log":{"creator":{"name":"Polly.JS"},"entries":[\#(entries)]}}"#.utf8)
        #expect(throws: Never.self) { try ImportedCassette(document, named: "x") }
        #expect(throws: CassetteImportError.self) {
            try ImportedCassette(document, named: "x", limits: ImportLimits(contentLength: 8 << 20))
        }
    }

    @Test func `A file beside the archive counts each time that it is read`() throws {
        let folder = TemporaryFolder()
        try Data(count: 1 << 20).write(to: folder.url.appending(path: "a.bin"))
        let document = Self.archive(20, creator: "x", content: #""_file":"a.bin""#)
        #expect(throws: CassetteImportError.self) {
            try ImportedCassette(
                document, named: "x", folder: folder.url, limits: ImportLimits(contentLength: 8 << 20))
        }
        #expect(throws: Never.self) { try ImportedCassette(document, named: "x", folder: folder.url) }
    }

    @Test(arguments: ["[],", "0,", #"{"":0},"#, "[[]],"])
    func `A compressed run of small values is refused before it fills the memory`(value: String) throws {
        let block = Data(repeatElement(Data(value.utf8), count: 4096).joined())
        let run = Data("[".utf8) + Data(repeatElement(block, count: 50).joined()) + Data("0]".utf8)
        let file = try run.coded(.gzip)
        #expect(file.count < 32 << 10)

        let error = #expect(throws: CassetteImportError.self) {
            try ImportedCassette(file, named: "x", limits: ImportLimits(valueCount: 200_000))
        }

        #expect(error?.reason.contains("too many values") == true)
        // The same values without a limit are a list of a format that is not known.
        let other = #expect(throws: CassetteImportError.self) {
            try ImportedCassette(file, named: "x", limits: ImportLimits(valueCount: 2_000_000))
        }
        #expect(other?.reason.contains("format") == true)
    }
}

extension Data {
    /// The bytes in a content coding, which the tests need and no user does.
    func coded(_ coding: ContentCoding) throws -> Data {
        try #require(try ContentEncoder(coding)?.encode(self, flush: .end))
    }
}
