import Foundation
import HTTPTypes
import Testing

@testable import Decorum

/// RFC 9110, section 15.3.7, and RFC 9111, sections 3.3 and 3.4.
@Suite struct PartialContentTests {
    /// A part of ten bytes: the first or the last ten of twenty, or another part that `range` describes.
    private func part(_ range: String, tag: String = "\"1\"", _ more: String = "", body: Body = "0123456789")
        -> StoredResponse
    {
        let tag = tag.isEmpty ? "" : "ETag: \(tag) | "
        return StoredPage.response("\(tag)Content-Range: bytes \(range) | \(more)", status: 206, body: body)
    }

    // MARK: Answering

    static let wholes: [(String, Int, String?, String)] = [
        ("bytes=0-1", 206, "bytes 0-1/10", "01"), ("bytes=8-", 206, "bytes 8-9/10", "89"),
        ("bytes=8-99", 206, "bytes 8-9/10", "89"), ("bytes=-3", 206, "bytes 7-9/10", "789"),
        ("bytes=-99", 206, "bytes 0-9/10", "0123456789"), ("bytes=10-", 416, "bytes */10", ""),
        ("bytes=-0", 416, "bytes */10", ""),
    ]

    @Test(arguments: wholes)
    func `A range is served from whole content`(asked: String, status: Int, range: String?, text: String) async throws {
        let stored = StoredPage.response("ETag: \"1\" | Content-Length: 10")
        let asked = try #require(ByteRange(asked))
        let answer = try #require(PartialContent.answer(asked, from: stored))
        #expect(answer.head.status.code == status)
        #expect(answer.head.headerFields[.contentRange] == range)
        #expect(try await answer.body.text(upTo: 100) == text)
        if status == 206 { #expect(answer.head.headerFields[.contentLength] == String(text.count)) }
    }

    static let parts: [(held: String, asked: String, range: String?, text: String?)] = [
        ("10-19/20", "bytes=10-19", "bytes 10-19/20", "0123456789"),
        ("10-19/20", "bytes=12-13", "bytes 12-13/20", "23"),
        ("10-19/20", "bytes=18-", "bytes 18-19/20", "89"), ("10-19/20", "bytes=-2", "bytes 18-19/20", "89"),
        ("10-19/20", "bytes=9-12", nil, nil), ("10-19/20", "bytes=0-", nil, nil), ("10-19/20", "bytes=-11", nil, nil),
        ("0-9/20", "bytes=8-10", nil, nil), ("0-9/20", "bytes=8-", nil, nil), ("0-9/20", "bytes=-1", nil, nil),
        ("0-9/*", "bytes=0-1", nil, nil),
        // Only the server knows that the range is outside of the content.
        ("0-9/20", "bytes=20-", nil, nil), ("10-19/20", "bytes=22-25", nil, nil), ("0-9/20", "bytes=-0", nil, nil),
        ("0-9/10", "bytes=10-", nil, nil),
        // The body is shorter than the field says, and longer.
        ("0-14/15", "bytes=8-9", "bytes 8-9/15", "89"), ("0-14/15", "bytes=8-10", nil, nil),
        ("0-14/15", "bytes=-1", "bytes 9-9/15", "9"), ("0-14/15", "bytes=-20", "bytes 0-9/15", "0123456789"),
        ("10-24/25", "bytes=-2", "bytes 18-19/25", "89"), ("10-24/25", "bytes=-11", nil, nil),
        ("0-14/20", "bytes=-1", nil, nil), ("0-14/15", "bytes=12-", nil, nil),
        ("10-14/15", "bytes=10-", "bytes 10-14/15", "01234"), ("10-14/20", "bytes=10-16", nil, nil),
    ]

    @Test(arguments: parts)
    func `A range is served from a part that contains it`(held: String, asked: String, range: String?, text: String?)
        async throws
    {
        let asked = try #require(ByteRange(asked))
        let stored = part(held)
        let answer = PartialContent.answer(asked, from: stored)
        #expect(PartialContent.canAnswer(asked, from: stored) == (range != nil))
        #expect(answer?.head.headerFields[.contentRange] == range)
        #expect(try await answer?.body.text(upTo: 100) == text)
    }

    @Test func `A part does not answer a request without a range`() {
        #expect(!PartialContent.canAnswer(nil, from: part("0-9/20")))
        #expect(!PartialContent.canAnswer(nil, from: StoredPage.response(status: 206)))
        #expect(PartialContent.canAnswer(nil, from: StoredPage.response()))
    }

    static let missing: [(String, ByteRange?)] = [
        ("0-9/20", .from(10, through: nil)), ("0-9/10", nil), ("10-19/20", nil), ("0-9/*", nil),
        ("0-14/20", .from(10, through: nil)), ("0-4/20", .from(5, through: nil)),
    ]

    @Test(arguments: missing)
    func `The missing range starts after the stored part`(held: String, range: ByteRange?) {
        #expect(PartialContent.missing(after: part(held)) == range)
    }

    // MARK: Combining

    static let combinations: [(held: String, tag: String, fields: String, body: String, text: String?)] = [
        ("0-9/15", "\"1\"", "ETag: \"1\" | Content-Range: bytes 10-14/15", "abcde", "0123456789abcde"),
        ("0-9/15", "\"1\"", "ETag: \"1\" | Content-Range: bytes 8-14/15", "89abcde", "0123456789abcde"),
        ("0-9/15", "\"1\"", "ETag: \"1\" | Content-Range: bytes 0-14/15", "0123456789abcde", "0123456789abcde"),
        // Their contents differ, or may differ.
        ("0-9/15", "\"1\"", "ETag: \"2\" | Content-Range: bytes 10-14/15", "abcde", nil),
        ("0-9/15", "W/\"1\"", "ETag: W/\"1\" | Content-Range: bytes 10-14/15", "abcde", nil),
        ("0-9/15", "\"1\"", "ETag: W/\"1\" | Content-Range: bytes 10-14/15", "abcde", nil),
        ("0-9/15", "\"1\"", "Content-Range: bytes 10-14/15", "abcde", nil),
        ("0-9/15", "", "ETag: \"1\" | Content-Range: bytes 10-14/15", "abcde", nil),
        ("0-9/15", "", "Content-Range: bytes 10-14/15", "abcde", nil),
        ("0-9/15", "", "ETag: | Content-Range: bytes 10-14/15", "abcde", nil),
        ("0-9/15", "\"1\"", "ETag: \"1\" | Content-Range: bytes 10-14/16", "abcde", nil),
        // They leave a gap, or are not complete together.
        ("0-9/16", "\"1\"", "ETag: \"1\" | Content-Range: bytes 11-15/16", "abcde", nil),
        ("0-9/16", "\"1\"", "ETag: \"1\" | Content-Range: bytes 10-14/16", "abcde", nil),
        ("1-10/15", "\"1\"", "ETag: \"1\" | Content-Range: bytes 11-14/15", "bcde", nil),
        ("0-9/*", "\"1\"", "ETag: \"1\" | Content-Range: bytes 10-14/*", "abcde", nil),
        ("0-9/15", "\"1\"", "ETag: \"1\" | Content-Range: bytes 0-4/15", "abcde", nil),
        ("0-12/15", "\"1\"", "ETag: \"1\" | Content-Range: bytes 13-14/15", "de", nil),
        // The body is not as long as its fields declare.
        ("0-9/15", "\"1\"", "ETag: \"1\" | Content-Range: bytes 10-14/15", "abc", nil),
        ("0-9/15", "\"1\"", "ETag: \"1\" | Content-Range: bytes 10-14/15", "abcdefgh", nil),
        ("0-9/15", "\"1\"", "ETag: \"1\"", "abcde", nil),
    ]

    @Test(arguments: combinations)
    func `A start and a rest with one strong tag make a complete response`(
        held: String, tag: String, fields: String, body: String, text: String?
    ) async throws {
        let stored = part(held, tag: tag, "A: 1 | Content-Length: 10")
        let head = StoredPage.head("\(fields) | A: 2", status: 206)
        let whole = PartialContent.combined(stored, with: head, Body(body))
        #expect(try await whole?.body.text(upTo: 100) == text)
        if let whole {
            #expect(whole.head.status == .ok)
            #expect(whole.head.headerFields[.contentRange] == nil)
            #expect(whole.head.headerFields[.contentLength] == "15")
            #expect(whole.head.headerFields[HTTPFields(lines: "A: 2")[0].name] == "2")
        }
    }

    @Test func `A rest of unknown length makes no complete response`() {
        let chunks = AsyncStream<Data> { $0.finish() }
        let head = StoredPage.head("ETag: \"1\" | Content-Range: bytes 10-14/15", status: 206)
        #expect(PartialContent.combined(part("0-9/15"), with: head, Body(chunks: chunks)) == nil)
        let arrived = StoredResponse(
            head: head, body: Body(chunks: chunks), request: StoredPage.request(), date: StoredPage.date)
        #expect(PartialContent.extended(part("0-9/15"), by: arrived) == nil)
    }

    @Test func `A part extends the stored part before it`() async throws {
        let arrived = part("8-13/20", body: "89abcd")
        let both = try #require(PartialContent.extended(part("0-9/20"), by: arrived))
        #expect(both.response.head.status == .partialContent)
        #expect(both.response.head.headerFields[.contentRange] == "bytes 0-13/20")
        #expect(try await both.body.text(upTo: 100) == "01234567")

        #expect(PartialContent.extended(part("0-9/20"), by: part("11-16/20", body: "bcdefg")) == nil)
        #expect(PartialContent.extended(part("0-9/20"), by: part("10-19/20", body: "bcdefg")) == nil)
        #expect(PartialContent.extended(StoredPage.response("ETag: \"1\""), by: arrived) == nil)
        #expect(PartialContent.extended(part("0-9/20"), by: StoredPage.response("ETag: \"1\"")) == nil)
    }

    @Test func `Parts with different Vary fields are not combined`() {
        let gzip = StoredPage.response(
            "ETag: \"1\" | Vary: Accept-Encoding | Content-Range: bytes 0-9/20", status: 206,
            to: "Accept-Encoding: gzip")
        #expect(PartialContent.extended(gzip, by: part("10-19/20")) == nil)
    }
}

/// RFC 9110, section 14.
@Suite struct ByteRangeTests {
    static let ranges: [(String, ByteRange?)] = [
        ("bytes=0-0", .from(0, through: 0)), ("bytes=2-5", .from(2, through: 5)), ("BYTES=2-5", .from(2, through: 5)),
        ("bytes=2-", .from(2, through: nil)), ("bytes=-5", .last(5)), ("bytes=-0", .last(0)),
        ("bytes=9223372036854775807-9223372036854775807", .from(.max, through: .max)),
        ("bytes=9223372036854775808-", nil), ("bytes=0-9223372036854775808", nil), ("bytes=-9223372036854775808", nil),
        ("bytes=5-2", nil), ("bytes=-", nil), ("bytes=", nil), ("bytes", nil), ("", nil), ("bytes=a-b", nil),
        ("bytes=+1-2", nil), ("bytes=1--2", nil), ("bytes=--2", nil), ("bytes=1-2-3", nil), ("bytes=1", nil),
        ("bytes=0-1,3-4", nil), ("bytes= 0-1", nil), ("bytes=0 -1", nil), ("bytes =0-1", nil), ("lines=0-1", nil),
        ("bytes=\u{661}-\u{662}", nil), ("bytes=0-\(String(repeating: "0", count: 60))1", nil),
    ]

    @Test(arguments: ranges)
    func `A single valid range is read, and any other value is not`(text: String, range: ByteRange?) {
        #expect(ByteRange(text) == range)
        if let range { #expect(ByteRange(range.value) == range) }
    }

    static let resolved: [(ByteRange, Int64, Range<Int64>?)] = [
        (.from(0, through: 4), 10, 0..<5), (.from(0, through: 99), 10, 0..<10), (.from(9, through: nil), 10, 9..<10),
        (.from(10, through: nil), 10, nil), (.from(0, through: nil), 0, nil), (.from(.max, through: .max), .max, nil),
        (.from(0, through: .max), .max, 0..<(.max)), (.last(4), 10, 6..<10), (.last(99), 10, 0..<10),
        (.last(0), 10, nil),
        (.last(1), 0, nil), (.last(.max), .max, 0..<(.max)), (.last(.max), 1, 0..<1),
    ]

    @Test(arguments: resolved)
    func `A range has offsets within a content`(range: ByteRange, length: Int64, offsets: Range<Int64>?) {
        #expect(range.resolved(in: length) == offsets)
    }

    static let contentRanges: [(String, ContentRange?)] = [
        ("bytes 0-4/10", ContentRange(bounds: 0..<5, length: 10)),
        ("Bytes 9-9/10", ContentRange(bounds: 9..<10, length: 10)),
        ("bytes 0-4/*", ContentRange(bounds: 0..<5, length: nil)),
        ("bytes 0-9223372036854775806/9223372036854775807", ContentRange(bounds: 0..<(.max), length: .max)),
        ("bytes 0-9223372036854775807/*", nil), ("bytes 0-9223372036854775807/9223372036854775808", nil),
        ("bytes 0-10/10", nil), ("bytes 4-0/10", nil), ("bytes */10", nil), ("bytes 0-4", nil), ("bytes 0-4/", nil),
        ("bytes 0-4/x", nil), ("bytes 0-4/-10", nil), ("bytes -4/10", nil), ("bytes 0-/10", nil),
        ("bytes 0-4/10/10", nil),
        ("bytes=0-4/10", nil), ("bytes  0-4/10", nil), ("lines 0-4/10", nil), ("", nil),
    ]

    @Test(arguments: contentRanges)
    func `The place of a part is read, and an invalid value is not`(text: String, range: ContentRange?) {
        let fields: HTTPFields = [.contentRange: text]
        #expect(ContentRange(fields) == range)
        if let range { #expect(ContentRange([.contentRange: range.value]) == range) }
    }

    @Test func `A response without the field is not a part`() {
        #expect(ContentRange([:]) == nil)
    }
}
