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
