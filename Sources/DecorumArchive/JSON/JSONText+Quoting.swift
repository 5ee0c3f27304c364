public import Decorum

extension JSONText {
    /// The text of what stands between the quotation marks of a string; nil where it is not UTF-8.
    static func text(of bytes: ArraySlice<UInt8>) -> String? {
        if bytes.contains(UInt8(ascii: "\\")) { return String(validating: unescape(bytes), as: UTF8.self) }
        // Most strings are ASCII, of which there is nothing to validate; the check is much faster than the validation.
        guard bytes.contains(where: { $0 >= 0x80 }) else { return String(decoding: bytes, as: UTF8.self) }
        return String(validating: bytes, as: UTF8.self)
    }

    /// A text as a string of JSON, with the shortest escapes and only where they are needed.
    public static func quoted(_ text: String) -> [UInt8] {
        var output: [UInt8] = [UInt8(ascii: "\"")]
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
            output += text.utf8
            output.append(UInt8(ascii: "\""))
            return output
        }
        for byte in text.utf8 {
            switch byte {
            case 0x08: output += Array("\\b".utf8)
            case 0x09: output += Array("\\t".utf8)
            case 0x0A: output += Array("\\n".utf8)
            case 0x0C: output += Array("\\f".utf8)
            case 0x0D: output += Array("\\r".utf8)
            default: output += escape(CollectionOfOne(byte))
            }
        }
        output.append(UInt8(ascii: "\""))
        return output
    }
}
