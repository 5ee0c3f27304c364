#if os(Linux)
@testable import Decorum
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// The chunked coding (RFC 9112, section 7.1), as a table and with random input.
@Suite struct CurlChunkedDecoderTests {
    private struct Result {
        var content: [UInt8] = []
        var decoder = CurlChunkedDecoder()
        var isValid = true
    }

    /// Decodes pieces of bytes, of which a closure gives the sizes.
    private static func decode(_ bytes: some Collection<UInt8>, sizes: () -> Int) -> Result {
        var result = Result()
        var rest = Array(bytes)[...]
        while !rest.isEmpty, result.isValid {
            let piece = Array(rest.prefix(sizes()))
            rest = rest.dropFirst(piece.count)
            var content: [UInt8] = []
            result.isValid = unsafe piece.withUnsafeBytes { bytes in
                unsafe result.decoder.decode(bytes) { unsafe content += $0 }
            }
            result.content += content
        }
        return result
    }

    @Test(
        arguments: [
            ("0\r\n\r\n", "", nil), ("5\r\nhello\r\n0\r\n\r\n", "hello", nil), ("5\nhello\n0\n\n", "hello", nil),
            ("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "hello", nil), ("0005\r\nhello\r\n000\r\n\r\n", "hello", nil),
            ("5;x=y\r\nhello\r\n0;b\r\n\r\n", "hello", nil), ("5 \t;x=\"a;b\"\r\nhello\r\n0 \r\n\r\n", "hello", nil),
            ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789", nil),
            ("9\r\n0\r\n\r\n0\r\n\r\r\n0\r\n\r\n", "0\r\n\r\n0\r\n\r", nil),
            ("0\r\nETag: 1\r\n\r\n", "", [.eTag: "1"]),
            ("1\r\na\r\n0\r\nETag: 1\r\nAge: 2\r\n\r\n", "a", [.eTag: "1", .age: "2"]),
            ("1\r\na\r\n0\r\n\r\n5\r\nexcess", "a", nil),
        ] as [(String, String, HTTPFields?)], [1, 2, 3, 1000])
    func `Content ends with the last chunk, however it is cut into pieces`(
        row: (coded: String, content: String, trailers: HTTPFields?), size: Int
    ) {
        let result = Self.decode(row.coded.utf8) { size }
        #expect(result.isValid)
        #expect(result.decoder.isComplete)
        #expect(String(decoding: result.content, as: UTF8.self) == row.content)
        #expect(result.decoder.trailers.trailers == row.trailers)
    }

    @Test(
        arguments: [
            "zz\r\n", "\r\n", ";x\r\n", " 5\r\n", "-5\r\n", "+5\r\n", "0x5\r\nhello\r\n", "5hello", "5,5\r\n",
            "5\rhello",
            "5\r\r\n", "5\r\nhello0\r\n\r\n", "5\r\nhello\rx", "8000000000000000\r\n", "ffffffffffffffff\r\n",
            "00000000000000005\r\n", "5;" + String(repeating: "x", count: 20_000),
            "0\r\n" + String(repeating: "X: y\r\n", count: 20_000),
        ], [1, 1_000_000])
    func `Malformed and endless codings are refused`(coded: String, size: Int) {
        let result = Self.decode(coded.utf8) { size }
        #expect(!result.isValid)
        #expect(!result.decoder.isComplete)
    }

    @Test(arguments: [
        "", "5", "5\r", "5\r\n", "5\r\nhell", "5\r\nhello", "5\r\nhello\r\n", "0", "0\r\n", "0\r\nX: y\r\n", "0\r\n\r",
    ])
    func `Content is not complete before the last chunk and the trailers`(coded: String) {
        let result = Self.decode(coded.utf8) { 1 }
        #expect(result.isValid)
        #expect(!result.decoder.isComplete)
    }

    @Test func `Random content comes back the same`() {
        let generator = SeededGenerator(seed: 7)
        for _ in 0..<300 {
            var (content, coded): ([UInt8], [UInt8]) = ([], [])
            for _ in 0..<generator.number(below: 7) {
                let chunk = (0...generator.number(below: 700)).map { _ in
                    UInt8(generator.number(below: 256))
                }
                content += chunk
                coded += Array((String(chunk.count, radix: 16) + "\r\n").utf8) + chunk + Array("\r\n".utf8)
            }
            coded += Array("0\r\n\r\n".utf8)
            let result = Self.decode(coded) { 1 + generator.number(below: 900) }
            #expect(result.isValid && result.decoder.isComplete)
            #expect(result.content == content)
        }
    }

    @Test func `Random bytes give no more content than there is`() {
        let generator = SeededGenerator(seed: 8)
        let alphabet = Array("0123456789abcdefABCDEF\r\n\r\n\r\n;: xX".utf8)
        for _ in 0..<20_000 {
            let coded = (0..<generator.number(below: 61)).map { _ in
                alphabet[generator.number(below: alphabet.count)]
            }
            let whole = Self.decode(coded) { 1000 }
            let pieces = Self.decode(coded) { 1 }
            #expect(whole.content.count <= coded.count)
            #expect(whole.isValid == pieces.isValid)
            #expect(whole.decoder.isComplete == pieces.decoder.isComplete)
            #expect(whole.content == pieces.content)
        }
    }
}

extension SeededGenerator {
    fileprivate func number(below limit: Int) -> Int { Int(next() % UInt64(limit)) }
}
#endif
