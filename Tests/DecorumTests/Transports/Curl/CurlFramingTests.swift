#if os(Linux)
@testable import Decorum
import Testing

/// Which heads tell in one way alone where their content ends, as a table.
@Suite struct CurlFramingTests {
    private static func head(_ fields: String, status: String = "200 OK") -> RawHead {
        var head = RawHead()
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
    func `One length, or one coding, is clear`(fields: String, length: Int64?) {
        #expect(Self.head(fields).hasClearFraming)
        #expect(Self.head(fields).contentLength == length)
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
    func `Contradictions and what is no number are not`(fields: String) {
        #expect(!Self.head(fields).hasClearFraming)
    }

    @Test func `An informational head has no content that a field could frame`() {
        #expect(Self.head("Link: a", status: "103 Early Hints").hasClearFraming)
        #expect(!Self.head("Content-Length: 3", status: "103 Early Hints").hasClearFraming)
        #expect(Self.head("Content-Length: 3", status: "304 Not Modified").hasClearFraming)
    }
}
#endif
