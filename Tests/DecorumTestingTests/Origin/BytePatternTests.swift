import DecorumTesting
import Foundation
import Testing

@Suite struct BytePatternTests {
    @Test(arguments: [(0, 0), (1, 5), (65521, 0), (200_000, 65520), (10, Int64(1) << 40)])
    func `Bytes are those of their offset`(count: Int, offset: Int64) {
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
