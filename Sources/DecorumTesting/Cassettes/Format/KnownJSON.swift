import Decorum

/// Walks over JSON that a `JSONScanner` has read before, so that nothing is checked again.
///
/// A cassette is checked when it is opened, and each part of it is read once more when it is played.
struct KnownJSON {
    private let bytes: [UInt8]
    /// The first byte that was not consumed, and is no blank.
    private(set) var position: Int

    init(_ bytes: [UInt8], at start: Int) {
        self.bytes = bytes
        position = start
        skipBlanks()
    }

    /// Consumes a byte if it is the next one, and the blanks behind it.
    mutating func skip(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        skipBlanks()
        return true
    }

    /// Consumes the name of a member and its colon.
    mutating func name() -> String {
        let text = nameText()
        return String(decoding: JSONText.unescape(bytes[text]), as: UTF8.self)
    }

    /// Consumes the name of a member and its colon, and returns the range between its quotation marks.
    mutating func nameText() -> Range<Int> {
        let start = position + 1
        skipString()
        let text = start..<position - 1
        skipBlanks()
        _ = skip(UInt8(ascii: ":"))
        return text
    }

    /// Consumes a value, and returns its range.
    mutating func value() -> Range<Int> {
        let start = position
        switch bytes[start] {
        case UInt8(ascii: "\""): skipString()
        case UInt8(ascii: "{"), UInt8(ascii: "["): skipContainer()
        default:
            position =
                bytes[start...].firstIndex { byte in
                    byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
                } ?? bytes.count
        }
        defer { skipBlanks() }
        return start..<position
    }

    private mutating func skipContainer() {
        let start = position
        position = unsafe bytes.withUnsafeBufferPointer { bytes in
            var index = start
            var depth = 0
            while index < bytes.count {
                let byte = unsafe bytes[index]
                index += 1
                if byte == UInt8(ascii: "\"") {
                    while index < bytes.count, unsafe bytes[index] != UInt8(ascii: "\"") {
                        index += unsafe bytes[index] == UInt8(ascii: "\\") ? 2 : 1
                    }
                    index += 1
                    continue
                }
                // A bracket and a brace differ in one bit, and no other byte of JSON outside of strings has both forms.
                switch byte | 0x20 {
                case UInt8(ascii: "{"): depth += 1
                case UInt8(ascii: "}"):
                    depth -= 1
                    if depth == 0 { return index }
                default: break
                }
            }
            return bytes.count
        }
    }

    private mutating func skipString() {
        var index = position + 1
        while bytes[index] != UInt8(ascii: "\"") { index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1 }
        position = index + 1
    }

    private mutating func skipBlanks() {
        var index = position
        while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
        position = index
    }
}
