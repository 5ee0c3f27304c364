/// Percent-encoding of bytes (RFC 3986, section 2.1).
public enum PercentCoding: Sendable {
    /// Decodes once; an incomplete escape stays as it is.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - plusIsBlank: Whether `+` stands for a blank, as in forms.
    /// - Returns: The decoded bytes, which need not be text.
    public static func decode(_ bytes: ArraySlice<UInt8>, plusIsBlank: Bool = true) -> [UInt8] {
        guard bytes.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else { return Array(bytes) }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.endIndex,
                let high = hexDigit(bytes[index + 1]), let low = hexDigit(bytes[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(plusIsBlank && bytes[index] == UInt8(ascii: "+") ? 0x20 : bytes[index])
                index += 1
            }
        }
        return decoded
    }

    /// Encodes all but the unreserved characters (RFC 3986, section 2.3).
    ///
    /// - Parameter text: The bytes.
    /// - Returns: The encoded bytes.
    public static func encode(_ text: some Sequence<UInt8>) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return text.flatMap { byte -> [UInt8] in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: [byte]
            case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): [byte]
            default: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }

    /// Encodes a text for one segment of a path, or for one name or value of a query (RFC 3986, section 3).
    ///
    /// Without it, a `/`, `?`, `#`, `&` or `..` in a text that somebody has typed leads to another resource:
    ///
    /// ```swift
    /// let repository = try Request.get("repos/\(PercentCoding.encode(name))?page=2")
    /// ```
    ///
    /// The segments `.` and `..` stay as they are, since no encoding keeps them (RFC 3986, section 6.2.2.3).
    ///
    /// - Parameter text: The text.
    /// - Returns: The text with all but its unreserved characters encoded.
    public static func encode(_ text: String) -> String {
        String(decoding: encode(text.utf8), as: UTF8.self)
    }

    /// The value of a hexadecimal digit in either letter case.
    ///
    /// - Parameter byte: The byte.
    /// - Returns: The value; nil when the byte is not a digit.
    public static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
