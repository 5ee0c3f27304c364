/// Takes apart `Set-Cookie` fields that a platform, or a recorder, has joined with commas.
///
/// A comma may stand within a cookie, as in `Expires=Thu, 01 Jan`. A new cookie starts behind a comma where a name
/// and an equals sign follow (RFC 6265, section 4.1.1). A value that itself holds `, name=` is split in the wrong
/// place: nothing tells it from two cookies.
public enum SetCookieSplitting: Sendable {
    /// Splits a joined value.
    ///
    /// - Parameter joined: The value, which may hold one cookie or several.
    /// - Returns: The values of the single fields.
    public static func split(_ joined: String) -> [String] {
        let bytes = joined.utf8
        var cookies: [String] = []
        var start = bytes.startIndex
        var index = start
        while let comma = bytes[index...].firstIndex(of: UInt8(ascii: ",")) {
            let next = bytes[bytes.index(after: comma)...].firstIndex { !isBlank($0) } ?? bytes.endIndex
            let nameEnd = bytes[next...].firstIndex { !isTokenByte($0) } ?? bytes.endIndex
            if nameEnd > next, nameEnd < bytes.endIndex, bytes[nameEnd] == UInt8(ascii: "=") {
                cookies.append(String(joined[start..<comma]))
                start = next
            }
            index = nameEnd
        }
        cookies.append(String(joined[start...]))
        return cookies
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
