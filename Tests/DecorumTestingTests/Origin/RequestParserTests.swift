import Decorum
import Foundation
import HTTPTypes
import Testing

@testable import DecorumTesting

@Suite struct RequestParserTests {
    private static let messages =
        "\r\nPOST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
        + "PUT /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\nA;x=y\r\n0123456789\r\n0\r\nT: 1\r\n\r\n"
        + "GET /c HTTP/1.0\r\n\r\n"

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `Messages are the same in whatever pieces they come`(size: Int) throws {
        var parser = RequestParser(headLimit: 1000)
        var targets: [String] = []
        var content = ""
        var trailers: [RawFields] = []
        let bytes = Array(Self.messages.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            parser.feed(Array(bytes[start..<min(start + size, bytes.count)]))
            while let event = try parser.next() {
                switch event {
                case .head(let head): targets.append(head.target)
                case .body(let piece): content += String(decoding: piece, as: UTF8.self)
                case .end(let fields): trailers.append(fields)
                }
            }
        }

        #expect(targets == ["/a", "/b", "/c"])
        #expect(content == "hello0123456789")
        #expect(trailers == [[:], ["T": "1"], [:]])
        #expect(!parser.hasUnreadBytes)
    }

    @Test func `Random bytes always end in an event, an error or a wait`() {
        let generator = SeededGenerator(seed: 3)
        let alphabet = Array("GET / HTTP/1.1\r\n: 0aF;chunkedTransfer-EncodingContent-LengthHost\n\r\n\r".utf8)
        var errors = 0
        for _ in 0..<500 {
            var parser = RequestParser(headLimit: 64)
            parser.feed((0..<200).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
            do {
                while try parser.next() != nil {}
            } catch {
                errors += 1
            }
        }
        #expect(errors > 400)
    }

    @Test(
        arguments: [
            ("0", 0), ("fF;ext=1", 255), (" a\t", 10), ("fffffffffffffff", 0xFFF_FFFF_FFFF_FFFF),
        ] as [(String, Int64)])
    func `Chunk sizes are hexadecimal`(line: String, size: Int64) throws {
        #expect(try RequestSyntax.chunkSize(line) == size)
    }

    @Test(arguments: ["", ";", "-1", "+1", "0x1", "1 2", "g", "1000000000000000", "\u{661}"])
    func `Other chunk sizes are refused`(line: String) {
        #expect(throws: RequestSyntaxError.self) { try RequestSyntax.chunkSize(line) }
    }

    @Test func `Values keep what is not ASCII`() throws {
        #expect(try RequestSyntax.fields(["A: \u{301}é \u{301} "]) == ["A": "\u{301}é \u{301}"])
        #expect(try RequestSyntax.fields(["A:\u{301}", "B:"]) == ["A": "\u{301}", "B": ""])
    }

    @Test func `Trailers have a limit`() {
        var parser = RequestParser(headLimit: 100)
        parser.feed(Array("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n".utf8))
        parser.feed(Array(String(repeating: "A: b\r\n", count: 100).utf8))
        #expect(throws: RequestSyntaxError.headTooLarge) { while try parser.next() != nil {} }
    }
}

@Suite struct RawFieldsTests {
    private let fields: RawFields = ["A": "1", "b": "2", "a": "3"]

    @Test func `Values are found in any letter case and in order`() {
        #expect(fields.values(of: "a") == ["1", "3"])
        #expect(fields["A"] == "1, 3")
        #expect(fields["c"] == nil)
    }

    @Test func `Order, number and spelling count`() {
        #expect(fields != ["a": "1", "b": "2", "a": "3"])
        #expect(fields != ["b": "2", "A": "1", "a": "3"])
        #expect(fields.lines.map(\.name) == ["A", "b", "a"])
    }
}

@Suite struct BytePatternTests {
    @Test(arguments: [(0, 0), (1, 5), (65521, 0), (200_000, 65520), (10, Int64(1) << 40)])
    func `Bytes follow from their offset`(count: Int, offset: Int64) {
        let bytes = BytePattern.bytes(count, at: offset)
        #expect(bytes.count == count)
        #expect(BytePattern.matches(bytes, at: offset))
        #expect(BytePattern.matches(bytes.dropFirst(count / 2), at: offset + Int64(count / 2)))
        #expect(count < 8 || !BytePattern.matches(bytes, at: offset + 1))
    }

    @Test func `A changed byte is noticed`() {
        var bytes = BytePattern.bytes(100_000)
        bytes[99_999] ^= 1
        #expect(!BytePattern.matches(bytes))
    }
}
