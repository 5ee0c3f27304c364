public import Decorum

extension JSONText {
    /// A text as a JSON string, with the shortest escapes and only the necessary ones.
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
