import HTTPTypes
import Testing

@testable import Decorum

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
