extension YAMLReader {
    var isAtProperty: Bool { cursor.byte() == UInt8(ascii: "!") || cursor.byte() == UInt8(ascii: "&") }

    var isAtExplicitKey: Bool { cursor.byte() == UInt8(ascii: "?") && cursor.isSeparator(1) }

    var isAtDash: Bool { cursor.byte() == UInt8(ascii: "-") && cursor.isSeparator(1) && !cursor.isAtMarker() }

    /// Whether the line continues with a key and its colon.
    var isAtKey: Bool {
        guard !isAtExplicitKey else { return true }
        var ahead = self
        ahead.skipProperties()
        switch ahead.cursor.byte() {
        case UInt8(ascii: "*"):
            guard (try? ahead.cursor.anchorName()) != nil else { return false }
            ahead.cursor.skipBlanks()
            return ahead.cursor.byte() == UInt8(ascii: ":") && ahead.cursor.isSeparator(1)
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            guard (try? ahead.cursor.quotedScalar()) != nil, ahead.cursor.line == cursor.line else { return false }
            ahead.cursor.skipBlanks()
            return ahead.cursor.byte() == UInt8(ascii: ":") && ahead.cursor.isSeparator(1)
        case let byte? where Self.cannotStartPlain(byte, isSeparated: ahead.cursor.isSeparator(1)): return false
        case nil: return false
        default:
            while !ahead.cursor.isAtEnd, !ahead.cursor.isAtBreak {
                if ahead.cursor.byte() == UInt8(ascii: ":"), ahead.cursor.isSeparator(1) { return true }
                if ahead.cursor.isAtBlank, ahead.cursor.byte(1) == UInt8(ascii: "#") { return false }
                ahead.cursor.advance()
                ahead.cursor.skipWord()
            }
            return false
        }
    }

    private static func cannotStartPlain(_ byte: UInt8, isSeparated: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "?"), UInt8(ascii: ":"): isSeparated
        case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: ","),
            UInt8(ascii: "|"), UInt8(ascii: ">"), UInt8(ascii: "&"), UInt8(ascii: "*"), UInt8(ascii: "!"),
            UInt8(ascii: "%"), UInt8(ascii: "@"), UInt8(ascii: "`"), UInt8(ascii: "#"):
            true
        default: false
        }
    }

    /// Throws at YAML that this reader does not support.
    func refuseUnread(inBrackets: Bool = false) throws(YAMLSyntaxError) {
        guard let byte = cursor.byte() else { return }
        let isIndicator = cursor.isSeparator(1) || inBrackets && byte == UInt8(ascii: "?")
        guard Self.cannotStartPlain(byte, isSeparated: isIndicator) else { return }
        throw cursor.fault(
            byte == UInt8(ascii: "%")
                ? "directives are not read" : "a value cannot begin with \u{27}\(Unicode.Scalar(byte))\u{27}")
    }

    /// Consumes the rest of a line, which may hold only a comment, and moves to the next content.
    mutating func endLine() throws(YAMLSyntaxError) {
        let isSeparated = cursor.isAtBlank
        cursor.skipBlanks()
        guard cursor.isAtEnd || cursor.isAtBreak || isSeparated && cursor.byte() == UInt8(ascii: "#") else {
            throw cursor.fault("there is text behind the value")
        }
        try skipToContent()
    }

    mutating func skipToContent() throws(YAMLSyntaxError) {
        while true {
            var hasTab = false
            while cursor.isAtBlank {
                hasTab = hasTab || cursor.byte() == 0x09
                cursor.advance()
            }
            if cursor.byte() == UInt8(ascii: "#") { cursor.skipLine() }
            guard cursor.isAtBreak else {
                guard !hasTab || cursor.isAtEnd else { throw cursor.fault("a tab stands in the indentation") }
                return
            }
            _ = cursor.consumeBreak()
        }
    }
}
