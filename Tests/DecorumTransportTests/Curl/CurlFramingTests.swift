#if os(Linux)
@testable import Decorum
import Testing

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
#endif
