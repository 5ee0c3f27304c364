import Foundation

/// The content codings of HTTP (RFC 9110, section 8.4.1).
enum ContentCoding {
    /// Whether bytes begin with the magic number of that coding; nil for a coding without one.
    static func isMagic(_ bytes: Data, of coding: String) -> Bool? {
        let start = Array(bytes.prefix(4))
        switch coding.lowercased() {
        case "gzip", "x-gzip": return start.starts(with: [0x1F, 0x8B])
        case "zstd": return start == [0x28, 0xB5, 0x2F, 0xFD]
        case "deflate":
            // A zlib header (RFC 1950, section 2.2): the method is 8, and the two bytes are a multiple of 31.
            guard start.count > 1, start[0] & 0x0F == 8, start[0] >> 4 <= 7 else { return false }
            return (Int(start[0]) << 8 | Int(start[1])).isMultiple(of: 31)
        default: return nil
        }
    }

    /// Undoes a coding; nil if the coding is unknown here, the bytes are not in it, or the output exceeds the limit.
    static func decode(_ bytes: [UInt8], _ coding: String, limit: Int) -> [UInt8]? {
        switch coding.lowercased() {
        case "gzip", "x-gzip": return gunzip(bytes, limit: limit)
        // Servers call both a zlib stream and the raw data within one deflate.
        case "deflate":
            return inflateZlib(bytes, limit: limit)
                ?? Inflater.inflate(bytes, from: 0, limit: limit).flatMap {
                    $0.end == bytes.count ? $0.output : nil
                }
        case "identity": return bytes
        default: return nil
        }
    }

    private static func inflateZlib(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
        guard isMagic(Data(bytes.prefix(2)), of: "deflate") == true, bytes.count >= 6, bytes[1] & 0x20 == 0,
            let (output, end) = Inflater.inflate(bytes, from: 2, limit: limit), end + 4 <= bytes.count
        else { return nil }
        let sum = bytes[end..<end + 4].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        return adler32(output) == sum ? output : nil
    }

    private static func gunzip(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
        var output: [UInt8] = []
        var index = 0
        // Members may follow each other (RFC 1952, section 2.2).
        repeat {
            guard let start = endOfGzipHeader(bytes, index),
                let (part, end) = Inflater.inflate(bytes, from: start, limit: limit - output.count),
                end + 8 <= bytes.count, littleEndian(bytes, end) == crc32(part),
                littleEndian(bytes, end + 4) == UInt32(truncatingIfNeeded: part.count)
            else { return nil }
            output += part
            index = end + 8
        } while index < bytes.count && bytes[index] == 0x1F
        return output
    }

    private static func endOfGzipHeader(_ bytes: [UInt8], _ start: Int) -> Int? {
        guard start + 10 <= bytes.count, bytes[start] == 0x1F, bytes[start + 1] == 0x8B, bytes[start + 2] == 8 else {
            return nil
        }
        let flags = bytes[start + 3]
        var index = start + 10
        if flags & 4 != 0 {
            guard index + 2 <= bytes.count else { return nil }
            index += 2 + Int(bytes[index]) + Int(bytes[index + 1]) << 8
        }
        for flag in [8, 16] as [UInt8] where flags & flag != 0 {
            guard index < bytes.count, let end = bytes[index...].firstIndex(of: 0) else { return nil }
            index = end + 1
        }
        if flags & 2 != 0 { index += 2 }
        return index < bytes.count ? index : nil
    }

    private static func littleEndian(_ bytes: [UInt8], _ index: Int) -> UInt32 {
        bytes[index..<index + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var low: UInt32 = 1
        var high: UInt32 = 0
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return high << 16 | low
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        let table = (0..<256 as Range<UInt32>).map { index in
            (0..<8).reduce(index) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        }
        return ~bytes.reduce(~0) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
    }
}
