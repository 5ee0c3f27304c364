/// Percent-encoding of text (RFC 3986, section 2.1).
public enum PercentCoding: Sendable {
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
        String(decoding: PercentEscapes.encode(Array(text.utf8)), as: UTF8.self)
    }

    /// Encodes a text for a place where further characters stay as they are, such as `/` in a whole path.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - kept: The characters of ASCII that stay, beside the unreserved ones (RFC 3986, section 2.3).
    /// - Returns: The text with all other bytes of UTF-8 encoded, in capital digits.
    public static func encode(_ text: String, keeping kept: String) -> String {
        String(decoding: PercentEscapes.encode(Array(text.utf8), keeping: Array(kept.utf8)), as: UTF8.self)
    }

    package static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] { PercentEscapes.encode(Array(bytes)) }

    package static func decode(_ bytes: ArraySlice<UInt8>, plusIsBlank: Bool = true) -> [UInt8] {
        PercentEscapes.decode(bytes, plusIsBlank: plusIsBlank)
    }

    @inline(__always) package static func hexDigit(_ byte: UInt8) -> UInt8? { PercentEscapes.hexDigit(byte) }
}

extension FixedWidthInteger {
    /// The number in hexadecimal digits, with zeros before it up to a length.
    package func hexadecimal(ofLength length: Int = 16) -> String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: Swift.max(0, length - digits.utf8.count)) + digits
    }
}
