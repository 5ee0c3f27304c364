/// Base64 in either alphabet, with or without its padding (RFC 4648, sections 4 and 5).
public enum Base64Text: Sendable {
    /// Decodes a text.
    ///
    /// - Parameters:
    ///   - text: The text, with or without padding.
    ///   - isAcceptable: Whether a decoded byte may occur; decoding stops at the first one that may not.
    /// - Returns: The bytes; nil when the text is not Base64, or when a decoded byte is not acceptable.
    public static func decode(
        _ text: ArraySlice<UInt8>, where isAcceptable: (UInt8) -> Bool = { _ in true }
    ) -> [UInt8]? {
        var text = text
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        guard text.count % 4 != 1 else { return nil }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var count = 0
        for byte in text {
            guard let digit = digit(byte) else { return nil }
            bits = bits << 6 | digit
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            let next = UInt8(truncatingIfNeeded: bits >> UInt32(count))
            guard isAcceptable(next) else { return nil }
            decoded.append(next)
        }
        return decoded
    }

    /// Whether a byte may be one of a text; in Base64 of random bytes, one of the first bytes is none.
    public static func isText(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || (0x09...0x0D).contains(byte)
    }

    private static func digit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case 0x41...0x5A: UInt32(byte - 0x41)
        case 0x61...0x7A: UInt32(byte - 0x61 + 26)
        case 0x30...0x39: UInt32(byte - 0x30 + 52)
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
