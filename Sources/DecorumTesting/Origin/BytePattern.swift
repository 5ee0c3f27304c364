public import Foundation

/// Bytes that follow from their offset, to make and to check bodies of any size without holding them.
///
/// The period is a prime number, so that a piece that was lost, repeated or moved does not match.
///
/// ```swift
/// origin.route(.get, "/large", .generated(count: 1 << 30))
///
/// var offset: Int64 = 0
/// for try await chunk in response.body {
///     #expect(BytePattern.matches(chunk, at: offset))
///     offset += Int64(chunk.count)
/// }
/// ```
public enum BytePattern: Sendable {
    static let period = 65521

    // Twice the period, so that a period from any offset is contiguous.
    static let block: Data = {
        var bytes = Data(capacity: 2 * period)
        var state: UInt32 = 0x9E37_79B9
        for _ in 0..<period {
            state = state &* 1_664_525 &+ 1_013_904_223
            bytes.append(UInt8(truncatingIfNeeded: state >> 24))
        }
        return bytes + bytes
    }()

    static func position(of offset: Int64) -> Int { Int(offset % Int64(period)) }

    /// Returns a number of bytes from an offset on; negative numbers count as zero.
    public static func bytes(_ count: Int, at offset: Int64 = 0) -> Data {
        var bytes = Data(capacity: max(0, count))
        var position = position(of: max(0, offset))
        while bytes.count < count {
            let piece = block[position..<min(position + period, position + count - bytes.count)]
            bytes.append(piece)
            position = (position + piece.count) % period
        }
        return bytes
    }

    /// Returns whether all bytes match the pattern from an offset on; a negative offset counts as zero.
    public static func matches(_ bytes: Data, at offset: Int64 = 0) -> Bool {
        var rest = bytes
        var position = position(of: max(0, offset))
        while !rest.isEmpty {
            let piece = rest.prefix(period)
            // Data compares whole blocks of memory, which is fast in debug builds too.
            guard piece == block[position..<position + piece.count] else { return false }
            rest = rest.dropFirst(piece.count)
            position = (position + piece.count) % period
        }
        return true
    }
}
