/// Texts that hold neither a token nor JSON with a string, as one fast pass shows: nearly all values of fields.
///
/// A text that is not plain has to be searched.
enum PlainText {
    static func holds(_ text: String) -> Bool {
        // The bytes are read only during the call.
        unsafe text.utf8.withContiguousStorageIfAvailable { bytes in unsafe holds(bytes) } ?? false
    }

    static func holds(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let starts = TokenShape.starts
        return unsafe marks.withUnsafeBufferPointer { marks in
            var digitCount = 0
            var isInWord: UInt8 = 0
            for index in bytes.indices {
                let mark = unsafe marks[Int(bytes[index])]
                if mark & Mark.special != 0 {
                    guard mark & Mark.hyphen != 0 else { return false }
                    // A private key begins with hyphens, which may follow a word.
                    if index > 1, unsafe starts.contains(bytes[index - 2], bytes[index - 1], bytes[index]) {
                        return false
                    }
                }
                digitCount &+= Int(mark & Mark.digit)
                let startsWord = mark & ~isInWord & Mark.word != 0
                if startsWord, bytes.count - index > 2,
                    unsafe starts.contains(bytes[index], bytes[index + 1], bytes[index + 2])
                {
                    return false
                }
                isInWord = mark
            }
            // Fewer digits are no number of a card.
            return digitCount < TokenSearch.minimumLength
        }
    }

    private enum Mark {
        static let digit: UInt8 = 1
        static let word: UInt8 = 2
        static let hyphen: UInt8 = 4
        /// The start of an escape, a quotation mark, or a hyphen.
        static let special: UInt8 = 8
    }

    /// The marks of each byte.
    private static let marks: [UInt8] = (0...UInt8.max).map { byte in
        var mark: UInt8 = 0
        if byte.isDecimalDigit { mark |= Mark.digit }
        if TokenSearch.isWord(byte) { mark |= Mark.word }
        if byte == UInt8(ascii: "-") { mark |= Mark.hyphen | Mark.special }
        if ["%", "\\", "\""].contains(Unicode.Scalar(byte)) { mark |= Mark.special }
        return mark
    }
}
