import DecorumArchive
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// Small files that would take the memory or the time of their reader.
@Suite(.serialized) struct ImportLimitTests {
    /// A gzip stream of 128 KiB of zeros, in some hundred bytes.
    private static let zeros: String = {
        (try? Data(count: 128 << 10).coded(.gzip))?.base64EncodedString() ?? ""
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
        let limits = ImportLimits(contentLength: 33 * 128 << 10)
        let imported = try ImportedCassette(document, named: "feed.har", limits: limits)
        let error = #expect(throws: CassetteImportError.self) { try imported.decodingContent() }
        #expect(error?.reason == "its contents have more than 4325376 bytes once their encodings are undone")
        #expect(error?.place == "$.log.entries[32], line 1")
        let other = try ImportedCassette(document, named: "feed.har")
        #expect(try other.decodingContent().interactions.last?.response?.body.bytes.count == 128 << 10)
    }

    @Test func `A zip archive of some kilobytes is refused behind its limit`() throws {
        let document = Self.archive(4, creator: "x", content: #""_file":"a.bin""#)
        let content = Data(repeating: 0x80, count: 8 << 20)
        let zipped = try Data.zipped([("feed.har", document), ("a.bin", content)])
        #expect(zipped.count < 1 << 16)
        let error = #expect(throws: CassetteImportError.self) {
            try ImportedCassette(zipped, named: "feed.har.zip", limits: ImportLimits(contentLength: 32 << 20))
        }
        #expect(error?.reason == "its contents have more than 33554432 bytes once their encodings are undone")
        #expect(error?.place == "$.log.entries[3].response.content._file, line 1")
    }

    @Test func `Attempts count that decode nothing`() throws {
        // It begins as gzip does, so that each content is tried.
        let document = Self.archive(300, creator: "x", content: #""text":"H4sIAP8=","encoding":"base64""#)
        let imported = try ImportedCassette(document, named: "x", limits: ImportLimits(contentLength: 1 << 20))
        #expect(throws: CassetteImportError.self) { try imported.decodingContent() }
    }

    @Test func `Chunks that Polly.js may have coded count as well`() throws {
        // Without a magic number in its first chunk, the content is decoded to find out whether it is coded at all.
        let zlib = try Data(count: 128 << 10).coded(.deflate).dropFirst(2).base64EncodedString()
        let entry =
            #"{"request":{"url":"https://a.example/"},"response":{"status":200,"headers":[{"name":"content-encoding","value":"deflate"}],"content":{"text":"[\"\#(zlib)\"]","encoding":"base64"}}}"#
        let entries = Array(repeating: entry, count: 40).joined(separator: ",")
        let document = Data(#"{"log":{"creator":{"name":"Polly.JS"},"entries":[\#(entries)]}}"#.utf8)
        #expect(throws: Never.self) { try ImportedCassette(document, named: "x") }
        #expect(throws: CassetteImportError.self) {
            try ImportedCassette(document, named: "x", limits: ImportLimits(contentLength: 1 << 20))
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
        let run = Data("[".utf8) + Data(repeatElement(block, count: 10).joined()) + Data("0]".utf8)
        let file = try run.coded(.gzip)
        #expect(file.count < 32 << 10)

        let error = #expect(throws: CassetteImportError.self) {
            try ImportedCassette(file, named: "x", limits: ImportLimits(valueCount: 40_000))
        }

        #expect(error?.reason.contains("too many values") == true)
        // The same values without a limit are a list of a format that is not known.
        let other = #expect(throws: CassetteImportError.self) {
            try ImportedCassette(file, named: "x", limits: ImportLimits(valueCount: 2_000_000))
        }
        #expect(other?.reason.contains("format") == true)
    }
}

@Suite(.timeLimit(.minutes(3))) struct ZipArchiveTests {
    private let whole: Data

    init() throws {
        whole = try CodedItems.data("items.har.zip")
    }

    @Test func `An HTTP archive in a zip archive is read with the content beside it`() throws {
        let imported = try ImportedCassette(whole, named: "items.har.zip")
        #expect(imported.interactions.map(\.request.url) == ["https://api.example.com/items"])
        #expect(imported.interactions[0].response?.body.bytes == (try CodedItems.content()))
        #expect(imported.warnings == [])
    }

    @Test func `A cassette plays a zip archive, and does not record on it`() async throws {
        let folder = TemporaryFolder()
        try whole.write(to: folder.url.appending(path: "items.har.zip"))
        let cassette = try Cassette(at: folder.path("items.har.zip"), mode: .replay)
        let response = try await CassetteConnection(cassette).send(.get("https://api.example.com/items"))
        #expect(try await response.body.data(upTo: 1 << 20) == (try CodedItems.content()))
        try await cassette.finish()
        let error = #expect(throws: CassetteError.self) {
            try Cassette(at: folder.path("items.har.zip"), mode: .append)
        }
        #expect(error?.reason.contains("HAR that is not plain JSON, which is only replayed") == true)
    }

    @Test func `Content that the zip archive does not have is missing`() throws {
        let renamed = try renaming("items.json", to: "atems.json")
        let imported = try ImportedCassette(renamed, named: "items.har.zip")
        #expect(imported.interactions[0].response?.body.bytes.isEmpty == true)
        #expect(imported.warnings.map(\.kind) == [.missingBody])
    }

    @Test func `A zip archive without one recording is refused`() throws {
        let renamed = try renaming("har.har", to: "har.hat")
        let error = #expect(throws: CassetteImportError.self) { try ImportedCassette(renamed, named: "x.zip") }
        #expect(error?.reason.contains("several files") == true)
    }

    @Test func `Every truncation is an error, and damage of the content is found`() throws {
        for count in stride(from: 0, to: whole.count - "a comment".utf8.count, by: 37) {
            #expect(throws: CassetteImportError.self) { try ImportedCassette(whole.prefix(count), named: "x") }
        }
        let content = try CodedItems.content()
        var dice = SeededDice(seed: 4)
        for _ in 0..<200 {
            var damaged = whole
            damaged[Int.random(in: 0..<whole.count, using: &dice)] ^= UInt8(1 << Int.random(in: 0..<8, using: &dice))
            guard let imported = try? ImportedCassette(damaged, named: "x") else { continue }
            for body in imported.interactions.compactMap(\.response?.body.bytes) {
                #expect(body.isEmpty || body == content)
            }
        }
    }

    /// The archive with another name in its list of files, which is at its end.
    private func renaming(_ name: String, to other: String) throws -> Data {
        let place = try #require(whole.range(of: Data(name.utf8), options: .backwards))
        return whole.replacingSubrange(place, with: Data(other.utf8))
    }
}

extension Data {
    fileprivate func replacingSubrange(_ range: Range<Int>, with other: Data) -> Data {
        self[..<range.lowerBound] + other + self[range.upperBound...]
    }
}
