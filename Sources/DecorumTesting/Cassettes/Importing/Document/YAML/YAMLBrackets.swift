extension YAMLReader {
    /// Reads a value that may be in brackets, up to its last character.
    mutating func flow() throws(YAMLSyntaxError) -> StoredValue {
        try enter()
        defer { depth -= 1 }
        let line = cursor.line
        var properties = YAMLProperties()
        while try readProperty(into: &properties) { skipFlowBlanks() }
        var value: StoredValue
        switch cursor.byte() {
        case UInt8(ascii: "["): value = StoredValue(content: .list(try flowList()), line: line)
        case UInt8(ascii: "{"): value = StoredValue(content: .map(try flowMapping()), line: line)
        case UInt8(ascii: "*"): value = try alias()
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            cursor.hasLoneSurrogate = false
            value = StoredValue(content: .string(try cursor.quotedScalar()), line: line)
            value.hasLoneSurrogate = cursor.hasLoneSurrogate
        case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"): value = properties.nothing(line: line)
        default:
            try refuseUnread(inBrackets: true)
            let text = cursor.plainScalar(indentation: nil)
            value = StoredValue(content: Self.literal(text, tag: properties.tag), line: line)
        }
        if properties.tag != nil { value.tag = properties.tag }
        return close(properties, around: value)
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
            let start = reader.cursor
            // Within brackets, libyaml takes a question mark for the start of a key even without a blank behind it.
            if start.byte() == UInt8(ascii: "?") {
                reader.cursor.advance()
                reader.skipFlowBlanks()
            }
            let name = try YAMLReader.name(of: try reader.flow(), at: start)
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
