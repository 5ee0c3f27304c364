#if os(Linux)
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// The heads that tell unambiguously where their content ends, as a table.
@Suite struct CurlFramingTests {
    private static func head(_ fields: String, status: String = "200 OK") -> CurlResponseHead {
        var head = CurlResponseHead()
        let text = "HTTP/1.1 \(status)\r\n\(fields)\r\n\r\n"
        for line in text.split(separator: "\r\n", omittingEmptySubsequences: false).dropLast() {
            unsafe Array("\(line)\r\n".utf8).withUnsafeBytes { unsafe head.append($0) }
        }
        return head
    }

    @Test(
        arguments: [
            ("X: a", nil), ("Content-Length: 0", 0), ("content-length:3", 3), ("Content-Length: 3, 3", 3),
            ("Content-Length: 3\r\nX: a\r\n b\r\nContent-Length: 3", 3), ("Content-Length: 9223372036854775807", .max),
            ("Transfer-Encoding: Chunked", nil), ("Trailer: a\r\nX: a\r\n\tb", nil), ("Content-Lengths: 3 0", nil),
        ] as [(String, Int64?)])
    func `One length, or one coding, is accepted`(fields: String, length: Int64?) {
        let framing = Self.head(fields).framing
        #expect(framing != nil)
        #expect(framing?.length == length)
        #expect(framing?.isChunked == fields.contains("Chunked"))
    }

    @Test(arguments: [
        "Content-Length: 30\r\nContent-Length: 3", "Content-Length: 3, 30", "Content-Length: 0x3",
        "Content-Length: 3 0", "Content-Length: 3\r\n 0", "Content-Length: 3\r\n\t", "Content-Length: +3",
        "Content-Length: -3", "Content-Length: 3abc", "Content-Length: 3.0", "Content-Length: 3,",
        "Content-Length:", "Content-Length: 9223372036854775808", "Content-Length : 3",
        "Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3",
        "Transfer-Encoding: gzip", "Transfer-Encoding: chunked, identity", "Transfer-Encoding:",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\n , gzip",
        " X: a\r\nContent-Length: 3",
    ])
    func `Contradictions and invalid numbers are refused`(fields: String) {
        #expect(Self.head(fields).framing == nil)
    }

    @Test func `An informational head that tells of content is refused`() {
        for status in ["100 Continue", "103 Early Hints"] {
            #expect(Self.head("Link: a", status: status).framing?.isPresent == false)
            #expect(Self.head("Content-Length: 0", status: status).framing?.length == 0)
            for field in ["Content-Length: 3", "Content-Length: 0x0", "Transfer-Encoding: chunked"] {
                #expect(Self.head(field, status: status).framing == nil)
            }
        }
        #expect(Self.head("Content-Length: 3", status: "304 Not Modified").framing?.length == 3)
    }
}

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
