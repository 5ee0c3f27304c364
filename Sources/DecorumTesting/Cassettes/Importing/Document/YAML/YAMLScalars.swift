extension YAMLCursor {
    /// Reads a scalar between quotation marks, which may run over several lines.
    mutating func quotedScalar() throws(YAMLSyntaxError) -> String {
        let quote = byte()
        let start = line
        advance()
        var output: [UInt8] = []
        while let next = byte() {
            if next == quote {
                advance()
                guard quote == UInt8(ascii: "'"), byte() == quote else {
                    return String(decoding: output, as: UTF8.self)
                }
                output.append(next)
                advance()
            } else if next == 0x20 || next == 0x09 || isAtBreak {
                foldBlanks(into: &output)
            } else if next == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                try escape(into: &output)
            } else {
                output.append(next)
                advance()
            }
        }
        throw YAMLSyntaxError(reason: "a quoted scalar has no end", line: start)
    }

    /// Reads a plain scalar up to its last character that is not blank.
    ///
    /// Its further lines have to be indented to the column `indentation`, which is nil within brackets.
    mutating func plainScalar(indentation: Int?) -> String {
        var output: [UInt8] = []
        while true {
            let start = position
            var end = position
            while !isAtEnd, !isAtBreak, !isEndOfPlain(inBrackets: indentation == nil) {
                if !isAtBlank { end = position + 1 }
                advance()
                let start = position
                skipWord()
                if position > start { end = position }
            }
            output += bytes[start..<end]
            guard isAtBreak else {
                rewind(to: end)
                return String(decoding: output, as: UTF8.self)
            }
            rewind(to: end)
            var next = self
            var blanks: [UInt8] = []
            next.foldBlanks(into: &blanks)
            let isIndented = indentation.map { next.column >= $0 } ?? true
            guard isIndented, let byte = next.byte(), byte != UInt8(ascii: "#"), !next.isAtMarker(),
                !next.isEndOfPlain(inBrackets: indentation == nil)
            else { return String(decoding: output, as: UTF8.self) }
            self = next
            output += blanks
        }
    }

    private func isEndOfPlain(inBrackets: Bool) -> Bool {
        switch byte() {
        case UInt8(ascii: ":"): isSeparator(1) || inBrackets && isFlowIndicator(byte(1))
        case UInt8(ascii: "#"): column == 0 || isSeparator(-1)
        case let byte: inBrackets && isFlowIndicator(byte)
        }
    }

    func isFlowIndicator(_ byte: UInt8?) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"): true
        default: false
        }
    }

    /// Moves back within the line.
    private mutating func rewind(to index: Int) {
        advance(index - position)
    }

    /// Consumes blanks and line breaks: a single break becomes a blank; of several breaks, the first is dropped.
    private mutating func foldBlanks(into output: inout [UInt8]) {
        let start = position
        skipBlanks()
        guard isAtBreak else {
            output += bytes[start..<position]
            return
        }
        let first = consumeBreak()
        let isFeed = first == [0x0A]
        if !isFeed { output += first }
        let count = output.count
        foldBreaks(into: &output)
        if isFeed, output.count == count { output.append(0x20) }
    }

    private mutating func foldBreaks(into output: inout [UInt8]) {
        skipBlanks()
        while isAtBreak {
            output += consumeBreak()
            skipBlanks()
        }
    }
}

extension YAMLCursor {
    private mutating func escape(into output: inout [UInt8]) throws(YAMLSyntaxError) {
        advance()
        if isAtBreak {
            _ = consumeBreak()
            foldBreaks(into: &output)
            return
        }
        guard let character = byte() else { throw fault("a quoted scalar has no end") }
        advance()
        let scalar: Unicode.Scalar
        switch Unicode.Scalar(character) {
        case "0": scalar = "\0"
        case "a": scalar = "\u{07}"
        case "b": scalar = "\u{08}"
        case "t", "\t": scalar = "\t"
        case "n": scalar = "\n"
        case "v": scalar = "\u{0B}"
        case "f": scalar = "\u{0C}"
        case "r": scalar = "\r"
        case "e": scalar = "\u{1B}"
        case " ", "\"", "\\", "/": scalar = Unicode.Scalar(character)
        case "N": scalar = "\u{85}"
        case "_": scalar = "\u{A0}"
        case "L": scalar = "\u{2028}"
        case "P": scalar = "\u{2029}"
        case "x": scalar = try codePoint(2)
        case "u": scalar = try codePoint(4)
        case "U": scalar = try codePoint(8)
        default: throw fault("an escape is unknown")
        }
        output += String(scalar).utf8
    }

    /// Reads the digits of an escape; a lone surrogate becomes U+FFFD, and two that belong together are joined.
    private mutating func codePoint(_ width: Int) throws(YAMLSyntaxError) -> Unicode.Scalar {
        let value = try hexDigits(width)
        if value & 0xFFFF_FC00 == 0xD800, byte() == UInt8(ascii: "\\"), byte(1) == UInt8(ascii: "u") {
            var next = self
            next.advance(2)
            let low = try next.hexDigits(4)
            if low & 0xFC00 == 0xDC00, let scalar = Unicode.Scalar(0x10000 + (value & 0x3FF) << 10 + (low & 0x3FF)) {
                self = next
                return scalar
            }
        }
        guard value <= 0x10FFFF else { throw fault("an escape names no character") }
        if let scalar = Unicode.Scalar(value) { return scalar }
        hasLoneSurrogate = true
        return "\u{FFFD}"
    }

    private mutating func hexDigits(_ width: Int) throws(YAMLSyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<width {
            guard let byte = byte(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw fault("an escape lacks digits")
            }
            value = value << 4 | UInt32(digit)
            advance()
        }
        return value
    }
}
