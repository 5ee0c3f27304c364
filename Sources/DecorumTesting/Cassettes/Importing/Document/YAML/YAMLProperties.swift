/// The properties that may precede a value: its tag, and the anchor by which aliases repeat it.
struct YAMLProperties: Sendable {
    /// An anchor, and the state of the reader at its position.
    struct Anchor: Sendable {
        let name: String
        let count: Int
        let position: Int
        let repeatedLength: Int
        let deepest: Int
    }

    var tag: String?
    var anchor: Anchor?

    /// The value after properties that no content follows: an empty string if there is a tag, such as `!`, and
    /// otherwise null.
    func nothing(line: Int) -> StoredValue {
        StoredValue(content: tag == nil ? .null : .string(""), tag: tag, line: line)
    }
}

/// A value that aliases repeat, and the cost of each repetition.
struct YAMLAnchor: Sendable {
    /// Nil while it is being read.
    var value: StoredValue?
    var count = 0
    var length = 0
    var height = 0
}

extension YAMLReader {
    /// Reads a tag or an anchor; returns whether there was one that is allowed here.
    mutating func readProperty(into properties: inout YAMLProperties) throws(YAMLSyntaxError) -> Bool {
        switch cursor.byte() {
        case UInt8(ascii: "!") where properties.tag == nil:
            properties.tag = readTag()
            return true
        case UInt8(ascii: "&") where properties.anchor == nil:
            let position = cursor.position
            let name = try cursor.anchorName()
            properties.anchor = YAMLProperties.Anchor(
                name: name, count: count, position: position, repeatedLength: repeatedLength, deepest: deepest)
            deepest = depth
            anchors[name] = YAMLAnchor()
            return true
        default: return false
        }
    }

    /// Stores a value whose properties were read, so that aliases can repeat it.
    mutating func close(_ properties: YAMLProperties, around value: StoredValue) -> StoredValue {
        var value = value
        // Writers that tag everything write null as a text with a tag.
        if properties.tag == "null" { value.content = .null }
        guard let anchor = properties.anchor else { return value }
        anchors[anchor.name] = YAMLAnchor(
            value: value, count: count - anchor.count + 1,
            length: cursor.position - anchor.position + repeatedLength - anchor.repeatedLength,
            height: deepest - depth)
        deepest = max(deepest, anchor.deepest)
        return value
    }

    /// Reads an alias, and returns the value that it repeats.
    ///
    /// Repeated values count as if they were written here again, because few lines could otherwise produce billions of
    /// values.
    mutating func alias() throws(YAMLSyntaxError) -> StoredValue {
        let start = cursor
        let name = try cursor.anchorName()
        guard let anchor = anchors[name] else { throw start.fault("an alias has no anchor") }
        guard let value = anchor.value else { throw start.fault("an alias is within the value that it repeats") }
        count += anchor.count
        repeatedLength += anchor.length
        deepest = max(deepest, depth + anchor.height)
        guard count <= countLimit, repeatedLength <= Self.repeatedLengthLimit else {
            throw start.fault("aliases repeat too much")
        }
        guard deepest <= Self.depthLimit else { throw start.fault("it is nested too deeply") }
        return value
    }

    /// Moves behind tags and anchors, without keeping them.
    mutating func skipProperties() {
        while true {
            switch cursor.byte() {
            case UInt8(ascii: "!"): _ = readTag()
            case UInt8(ascii: "&"): guard (try? cursor.anchorName()) != nil else { return }
            default: return
            }
            cursor.skipBlanks()
        }
    }

    mutating func readTag() -> String {
        let start = cursor.position
        let isVerbatim = cursor.byte(1) == UInt8(ascii: "<")
        while !cursor.isAtEnd, !cursor.isSeparator(), isVerbatim || !cursor.isFlowIndicator(cursor.byte()) {
            cursor.advance()
        }
        let tag = String(
            decoding: cursor.bytes[start..<cursor.position].drop { $0 == UInt8(ascii: "!") }, as: UTF8.self)
        return tag.hasPrefix("<tag:yaml.org,2002:") ? String(tag.dropFirst(19).dropLast()) : tag
    }
}

extension YAMLCursor {
    /// Reads an ampersand or an asterisk and the name behind it, with the characters that libyaml and similar libraries
    /// allow in it.
    mutating func anchorName() throws(YAMLSyntaxError) -> String {
        let sign = self
        advance()
        let start = position
        while let byte = byte(), Self.isNamePart(byte) { advance() }
        let isEnd = isSeparator() || isFlowIndicator(byte()) || byte() == UInt8(ascii: ":")
        guard position > start, isEnd else { throw sign.fault("the name of an anchor is wrong") }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
