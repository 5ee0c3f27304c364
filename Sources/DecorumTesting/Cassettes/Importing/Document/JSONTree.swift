import Decorum

/// Reads JSON as a tree whose values have their lines.
struct JSONTree {
    private let bytes: [UInt8]
    private var line = 1
    /// The byte up to which line breaks were counted.
    private var counted = 0

    static func value(of bytes: [UInt8], countLimit: Int) throws -> (StoredValue, count: Int) {
        var scanner = JSONScanner(bytes, countLimit: countLimit)
        var tree = JSONTree(bytes: bytes)
        let value = try tree.value(&scanner)
        try scanner.expectEnd()
        return (value, scanner.count)
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private mutating func value(_ scanner: inout JSONScanner) throws -> StoredValue {
        let first = try scanner.peek()
        let line = line(at: scanner.position)
        let start = scanner.position
        var value = StoredValue(content: try content(first, &scanner), line: line)
        if first == UInt8(ascii: "\"") {
            value.hasLoneSurrogate = JSONText.hasLoneSurrogate(bytes[start + 1..<scanner.position - 1])
        }
        return value
    }

    private mutating func content(_ first: UInt8, _ scanner: inout JSONScanner) throws -> StoredValue.Content {
        switch first {
        case UInt8(ascii: "{"):
            var members: [StoredValue.Member] = []
            try scanner.object { name, scanner in
                members.append(StoredValue.Member(name: name, value: try value(&scanner)))
            }
            return .map(members)
        case UInt8(ascii: "["):
            var elements: [StoredValue] = []
            try scanner.array { elements.append(try value(&$0)) }
            return .list(elements)
        case UInt8(ascii: "\""): return .string(try scanner.string())
        default:
            let text = String(decoding: bytes[try scanner.skipValue()], as: UTF8.self)
            if text == "null" { return .null }
            return text == "true" || text == "false" ? .literal(text) : .number(text)
        }
    }

    private mutating func line(at position: Int) -> Int {
        while counted < position {
            if bytes[counted] == 0x0A { line += 1 }
            counted += 1
        }
        return line
    }
}
