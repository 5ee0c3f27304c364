extension YAMLReader {
    /// Reads a value that may be in brackets, up to its last character.
    mutating func flow() throws(YAMLSyntaxError) -> StoredValue {
        try enter()
        defer { depth -= 1 }
        var tag: String?
        let line = cursor.line
        if cursor.byte() == UInt8(ascii: "!") {
            tag = readTag()
            skipFlowBlanks()
        }
        switch cursor.byte() {
        case UInt8(ascii: "["): return StoredValue(content: .list(try flowList()), tag: tag, line: line)
        case UInt8(ascii: "{"): return StoredValue(content: .map(try flowMapping()), tag: tag, line: line)
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            return StoredValue(content: .string(try cursor.quotedScalar()), tag: tag, line: line)
        case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"):
            return StoredValue(content: tag == nil ? .null : .string(""), tag: tag, line: line)
        default:
            try refuseUnread()
            return StoredValue(content: Self.literal(cursor.plainScalar(indentation: nil)), tag: tag, line: line)
        }
    }

    private mutating func flowList() throws(YAMLSyntaxError) -> [StoredValue] {
        var elements: [StoredValue] = []
        try flowElements(until: UInt8(ascii: "]")) { reader throws(YAMLSyntaxError) in
            elements.append(try reader.flow())
        }
        return elements
    }

    private mutating func flowMapping() throws(YAMLSyntaxError) -> [StoredValue.Member] {
        var members: [StoredValue.Member] = []
        try flowElements(until: UInt8(ascii: "}")) { reader throws(YAMLSyntaxError) in
            let isPlain = reader.cursor.byte() == UInt8(ascii: "<")
            let name: String
            switch try reader.flow().content {
            case .string(let text), .literal(let text): name = text
            case .null: name = ""
            case .list, .map: throw reader.cursor.fault("a key is expected")
            }
            guard !isPlain || name != "<<" else { throw reader.cursor.fault("merge keys are not read") }
            reader.skipFlowBlanks()
            var value = StoredValue(content: .null, line: reader.cursor.line)
            if reader.cursor.byte() == UInt8(ascii: ":") {
                reader.cursor.advance()
                reader.skipFlowBlanks()
                value = try reader.flow()
            }
            members.append(StoredValue.Member(name: name, value: value))
        }
        return members
    }

    private mutating func flowElements(
        until close: UInt8, read: (inout YAMLReader) throws(YAMLSyntaxError) -> Void
    ) throws(YAMLSyntaxError) {
        let start = cursor.line
        cursor.advance()
        skipFlowBlanks()
        while cursor.byte() != close {
            try read(&self)
            skipFlowBlanks()
            if cursor.byte() == UInt8(ascii: ",") {
                cursor.advance()
                skipFlowBlanks()
            } else if cursor.isAtEnd {
                throw YAMLSyntaxError(reason: "a bracket is never closed", line: start)
            } else if cursor.byte() != close {
                throw cursor.fault("a comma is expected")
            }
        }
        cursor.advance()
    }

    private mutating func skipFlowBlanks() {
        while true {
            cursor.skipBlanks()
            if cursor.byte() == UInt8(ascii: "#") { cursor.skipLine() }
            guard cursor.isAtBreak else { return }
            _ = cursor.consumeBreak()
        }
    }
}
