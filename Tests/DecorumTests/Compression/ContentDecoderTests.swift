import Decorum
import DecorumTestSupport
import Foundation
import Testing

@Suite struct ContentDecoderTests {
    @Test(arguments: CodedItems.all, [1, 7, 1000, 1 << 20])
    func `Content of other programs is decoded, in pieces of any size`(
        item: (file: String, codings: [String]), size: Int
    ) throws {
        let decoded = try ContentDecoder.decode(CodedItems.data(item.file), inPiecesOf: size, from: item.codings)

        #expect(decoded == (try CodedItems.content()))
    }

    @Test(arguments: CodedItems.all)
    func `Content that ends too early is an error at every length but zero`(
        item: (file: String, codings: [String])
    ) throws {
        let coded = try CodedItems.data(item.file)
        // After a whole member or frame, more may follow or not.
        let whole = try Self.wholeLengths(of: item.file)
        for length in 1..<coded.count where !whole.contains(length) {
            let error = #expect(throws: ContentCodingError.self, "\(length)") {
                try ContentDecoder.decode(coded.prefix(length), inPiecesOf: 1 << 20, from: item.codings)
            }
            #expect(error?.reason == .truncated, "\(length): \(String(describing: error))")
        }
    }

    @Test(arguments: CodedItems.all)
    func `Bytes behind the end are an error, and padding of gzip is not`(item: (file: String, codings: [String]))
        throws
    {
        let coded = try CodedItems.data(item.file)
        for size in [1, 1 << 20] {
            for rest in ["\0", "\r\n", "<html>"] {
                let padded = coded + Data(rest.utf8)
                // Behind gzip alone, padding is usual.
                guard item.codings.last?.hasSuffix("gzip") != true || rest == "<html>" else {
                    let content = try ContentDecoder.decode(padded, inPiecesOf: size, from: item.codings)
                    #expect(content == (try CodedItems.data("items.json")))
                    continue
                }
                let error = #expect(throws: ContentCodingError.self) {
                    try ContentDecoder.decode(padded, inPiecesOf: size, from: item.codings)
                }
                #expect(error?.reason == .trailingData)
            }
        }
    }

    @Test(arguments: CodedItems.all)
    func `No bytes at all are content without bytes`(item: (file: String, codings: [String])) throws {
        #expect(try ContentDecoder.decode(Data(), inPiecesOf: 1, from: item.codings).isEmpty)
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd"])
    func `Content that is not in the coding is an error, again and again`(coding: String) throws {
        let decoder = try ContentDecoder([ContentCoding(coding)])
        decoder.feed(Data([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]))
        for _ in 1...3 {
            let error = #expect(throws: ContentCodingError.self) { try decoder.next() }
            #expect(error?.reason == .malformed)
        }
        #expect(throws: ContentCodingError.self) { try decoder.finish() }
    }

    @Test func `A window above that of HTTP is an error`() throws {
        let error = #expect(throws: ContentCodingError.self) {
            try ContentDecoder.decode(CodedItems.data("items.window.zst"), inPiecesOf: 1000, from: ["zstd"])
        }
        #expect(error?.reason == .largeWindow)
    }

    @Test func `A decoder without codings gives what it gets`() throws {
        let content = try CodedItems.content()
        #expect(try ContentDecoder.decode(content, inPiecesOf: 100_000, from: []) == content)
    }

    @Test func `Codings that are unknown or too many are refused`() {
        let unknown = #expect(throws: ContentCodingError.self) { try ContentDecoder([.gzip, ContentCoding("x-odd")]) }
        #expect(unknown?.reason == .unavailable)
        let many = #expect(throws: ContentCodingError.self) { try ContentDecoder([.gzip, .gzip, .gzip, .gzip]) }
        #expect(many?.reason == .maximumCodings)
        #expect(many?.description.contains("raise ContentDecodingLimits.maximumCodings") == true)
        #expect(throws: Never.self) {
            try ContentDecoder([.gzip, .gzip, .gzip, .gzip], limits: .init(maximumCodings: 4))
        }
    }

    @Test func `A limit of length lets through what is just as long`() throws {
        let (content, coded) = (try CodedItems.content(), try CodedItems.data("items.gz"))
        let fits = ContentDecodingLimits(maximumLength: Int64(content.count))
        #expect(try ContentDecoder.decode(coded, from: [.gzip], limits: fits) == content)

        let error = #expect(throws: ContentCodingError.self) {
            try ContentDecoder.decode(coded, from: [.gzip], limits: .init(maximumLength: Int64(content.count) - 1))
        }
        #expect(error?.reason == .maximumLength)
        #expect(error?.description.contains("raise ContentDecodingLimits.maximumLength") == true)
    }

    @Test func `Names in any case are one coding, and identity is no coding`() {
        #expect(ContentCoding("GZip") == .gzip)
        #expect(ContentCoding("br").isDecodable && !ContentCoding("identity").isDecodable)
        #expect("\(ContentCoding.zstd)" == "zstd")
    }

    /// The lengths at which a file of several members or frames is whole.
    private static func wholeLengths(of file: String) throws -> Set<Int> {
        let coded = Array(try CodedItems.data(file))
        let starts: [[UInt8]]
        switch file {
        case "items.members.gz": starts = [[0x1F, 0x8B, 8]]
        case "items.frames.zst": starts = [[0x28, 0xB5, 0x2F, 0xFD], [0x50, 0x2A, 0x4D, 0x18]]
        default: return []
        }
        return Set(coded.indices.filter { index in starts.contains { coded[index...].starts(with: $0) } })
    }
}
