import Decorum

/// Tells a place at which the name of a member is missing, such as behind the comma that was left at the end of an object.
enum ExpectedName {
    /// The error, which tells that a name is expected where the parser expects any string.
    static func told(in error: JSONSyntaxError, of bytes: [UInt8]) -> JSONSyntaxError {
        guard error.reason == "a string is expected", isName(at: error.offset, in: bytes) else { return error }
        let isEnd = error.offset < bytes.count && bytes[error.offset] == UInt8(ascii: "}")
        return JSONSyntaxError(
            reason: "the name of a member is expected\(isEnd ? " behind the comma" : "")", offset: error.offset)
    }

    /// Whether an offset is behind the start of an object, or behind a comma in one.
    private static func isName(at offset: Int, in bytes: [UInt8]) -> Bool {
        var open: [UInt8] = []
        var last = UInt8(ascii: " ")
        var isText = false
        var isEscaped = false
        for byte in bytes.prefix(offset) {
            if isText {
                isText = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): open.append(byte)
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
            default: break
            }
            if byte > 0x20 { last = byte }
        }
        return open.last == UInt8(ascii: "{") && (last == UInt8(ascii: "{") || last == UInt8(ascii: ","))
    }
}
