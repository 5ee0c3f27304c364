extension YAMLCursor {
    /// Reads a literal or folded block whose header is at the position; `parent` is the column of its container, or -1.
    mutating func blockScalar(parent: Int) throws(YAMLSyntaxError) -> String {
        let isFolded = byte() == UInt8(ascii: ">")
        let (chomping, increment) = try blockHeader()

        let least = max(parent + 1, 1)
        var breaks: [UInt8] = []
        var indentation = increment.map { least + $0 - 1 } ?? 0
        if increment == nil {
            var deepest = 0
            while byte() == 0x20 || isAtBreak {
                if isAtBreak { breaks += consumeBreak() } else { advance() }
                deepest = max(deepest, column)
            }
            indentation = max(least, deepest)
        } else {
            collectBreaks(&breaks, indentation)
        }

        var output: [UInt8] = []
        var lastBreak: ArraySlice<UInt8> = []
        var wasIndented = true
        while column == indentation, !isAtEnd {
            // Breaks around lines that are indented further are kept.
            if isFolded, !wasIndented, !isAtBlank, lastBreak == [0x0A] {
                if breaks.isEmpty { output.append(0x20) }
            } else {
                output += lastBreak
            }
            output += breaks
            wasIndented = isAtBlank
            let start = position
            skipLine()
            output += bytes[start..<position]
            lastBreak = consumeBreak()
            breaks = []
            collectBreaks(&breaks, indentation)
        }
        if chomping != UInt8(ascii: "-") { output += lastBreak }
        if chomping == UInt8(ascii: "+") { output += breaks }
        return String(decoding: output, as: UTF8.self)
    }

    /// Reads up to the first line of the content: how its trailing line breaks are chomped, and how far it is indented.
    private mutating func blockHeader() throws(YAMLSyntaxError) -> (chomping: UInt8?, increment: Int?) {
        advance()
        var chomping: UInt8?
        var increment: Int?
        while let byte = byte(), !isSeparator() {
            switch byte {
            case UInt8(ascii: "+"), UInt8(ascii: "-"):
                guard chomping == nil else { throw fault("the header of a block is wrong") }
                chomping = byte
            case 0x31...0x39:
                guard increment == nil else { throw fault("the header of a block is wrong") }
                increment = Int(byte - 0x30)
            default: throw fault("the header of a block is wrong")
            }
            advance()
        }
        skipBlanks()
        if byte() == UInt8(ascii: "#") { skipLine() }
        guard isAtEnd || isAtBreak else { throw fault("the header of a block is wrong") }
        _ = consumeBreak()
        return (chomping, increment)
    }

    private mutating func collectBreaks(_ breaks: inout [UInt8], _ indentation: Int) {
        skipIndentation(to: indentation)
        while isAtBreak {
            breaks += consumeBreak()
            skipIndentation(to: indentation)
        }
    }
}
