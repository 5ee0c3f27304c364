import Decorum

/// The tokens of a JSON document, without the blanks between them.
struct JSONTokens: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private let end: Int
    private var position: Int

    /// Creates the tokens of a document that is known to be JSON.
    init(_ bytes: [UInt8], in range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    mutating func next() -> ArraySlice<UInt8>? {
        while position < end, bytes[position].isBlank { position += 1 }
        guard position < end else { return nil }
        let start = position
        position += 1
        switch bytes[start] {
        case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","),
            UInt8(ascii: ":"):
            break
        case UInt8(ascii: "\""):
            while position < end, bytes[position] != UInt8(ascii: "\"") {
                position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
            }
            position = Swift.min(position + 1, end)
        default:
            while position < end, !bytes[position].endsScalar { position += 1 }
        }
        return bytes[start..<position]
    }
}

extension JSONTokens {
    /// The tokens, joined without blanks.
    consuming func joined() -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(end - position)
        var isString = false
        // The bytes between two blanks are copied at once.
        var start = position
        while position < end {
            let byte = bytes[position]
            if isString, byte == UInt8(ascii: "\\") {
                position += 1
            } else if byte == UInt8(ascii: "\"") {
                isString.toggle()
            } else if !isString, byte.isBlank {
                if start < position { output += bytes[start..<position] }
                start = position + 1
            }
            position += 1
        }
        output += bytes[start..<end]
        return output
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }

    fileprivate var endsScalar: Bool {
        isBlank || self == UInt8(ascii: ",") || self == UInt8(ascii: "}") || self == UInt8(ascii: "]")
    }
}
