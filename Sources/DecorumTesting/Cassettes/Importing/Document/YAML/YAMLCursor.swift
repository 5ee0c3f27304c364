/// A position in a document of YAML 1.1, with its line and column.
struct YAMLCursor: Sendable {
    let bytes: [UInt8]
    private(set) var position: Int
    private(set) var line = 1
    /// Whether a scalar had half of a surrogate pair, which became U+FFFD.
    var hasLoneSurrogate = false
    private var lineStart: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        lineStart = position
    }

    var isAtEnd: Bool { position >= bytes.count }

    /// The number of bytes between the start of the line and the position; before content these are blanks.
    var column: Int { position - lineStart }

    /// The byte at a distance from the position.
    func byte(_ distance: Int = 0) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    mutating func advance(_ count: Int = 1) {
        position += count
    }

    /// The length of the line break at an index; 0 if there is none.
    ///
    /// YAML 1.1, which the writers of cassettes follow, also breaks lines at U+0085, U+2028 and U+2029.
    func breakLength(at index: Int) -> Int {
        guard index < bytes.count else { return 0 }
        switch bytes[index] {
        case 0x0A: return 1
        case 0x0D: return index + 1 < bytes.count && bytes[index + 1] == 0x0A ? 2 : 1
        case 0xC2: return index + 1 < bytes.count && bytes[index + 1] == 0x85 ? 2 : 0
        case 0xE2:
            guard index + 2 < bytes.count, bytes[index + 1] == 0x80 else { return 0 }
            return bytes[index + 2] == 0xA8 || bytes[index + 2] == 0xA9 ? 3 : 0
        default: return 0
        }
    }

    var isAtBreak: Bool { breakLength(at: position) > 0 }

    var isAtBlank: Bool { byte() == 0x20 || byte() == 0x09 }

    /// Whether a blank, a line break, or the end stands at a distance from the position.
    func isSeparator(_ distance: Int = 0) -> Bool {
        guard let byte = byte(distance) else { return true }
        return byte == 0x20 || byte == 0x09 || breakLength(at: position + distance) > 0
    }

    /// Consumes a line break, and returns it: a line feed, or one of the other breaks unchanged.
    mutating func consumeBreak() -> ArraySlice<UInt8> {
        let length = breakLength(at: position)
        guard length > 0 else { return [] }
        let content = bytes[position..<position + length]
        position += length
        line += 1
        lineStart = position
        return content.first == 0x0D || content.first == 0x0A ? [0x0A] : content
    }

    mutating func skipBlanks() {
        while isAtBlank { position += 1 }
    }

    /// Consumes blanks up to a column.
    mutating func skipIndentation(to column: Int) {
        while self.column < column, byte() == 0x20 { position += 1 }
    }

    /// Consumes all up to the end of the line.
    mutating func skipLine() {
        repeat { skipWord() } while skipOne()
    }

    /// Consumes a byte unless a line break or the end is here.
    private mutating func skipOne() -> Bool {
        guard !isAtEnd, !isAtBreak else { return false }
        position += 1
        return true
    }

    /// Consumes bytes without special meaning in a plain scalar: letters, digits and most signs.
    mutating func skipWord() {
        var index = position
        let count = bytes.count
        while index < count {
            switch bytes[index] {
            case 0x24...0x2B, 0x2D...0x39, 0x3B...0x5A, 0x5C, 0x5E...0x7A, 0x7C, 0x7E: index += 1
            default:
                position = index
                return
            }
        }
        position = index
    }

    /// Whether the line that starts here ends or starts a document.
    func isAtMarker(_ character: Unicode.Scalar? = nil) -> Bool {
        guard column == 0, let first = byte(), first == UInt8(ascii: "-") || first == UInt8(ascii: ".") else {
            return false
        }
        if let character, UInt8(ascii: character) != first { return false }
        return byte(1) == first && byte(2) == first && isSeparator(3)
    }

    func fault(_ reason: String) -> YAMLSyntaxError { YAMLSyntaxError(reason: reason, line: line) }
}

/// A document uses YAML beyond the part that recorders write.
struct YAMLSyntaxError: Error, Hashable, Sendable {
    /// The cause, as a clause.
    let reason: String
    /// The line, counted from 1, on which it appears.
    let line: Int
}
