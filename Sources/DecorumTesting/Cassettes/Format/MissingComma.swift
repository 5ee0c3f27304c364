import Decorum

/// Tells that a comma is missing between two members or elements, which a parser notices only at the second one.
enum MissingComma {
    /// The line of the fault with its words, and the error that tells the cause; nil if no comma is missing.
    ///
    /// Where the second value begins a line, the comma is missing at the end of an earlier one.
    static func told(
        in error: JSONSyntaxError, of bytes: [UInt8]
    ) -> (line: String, error: JSONSyntaxError)? {
        guard isEndExpected(error), error.offset < bytes.count, startsValue(bytes[error.offset]),
            let last = bytes[..<error.offset].lastIndex(where: { $0 > 0x20 }), endsValue(bytes[last]),
            last < error.offset - 1 || isBracket(bytes[last]) || isBracket(bytes[error.offset])
        else { return nil }
        let told = JSONSyntaxError(reason: "a comma or a closing bracket is missing there", offset: error.offset)
        let line = JSONSyntaxError(reason: "", offset: last).line(in: bytes)
        return (line == error.line(in: bytes) ? "line \(line)" : "after line \(line)", told)
    }

    /// Whether the parser expects the end of an object or of an array.
    private static func isEndExpected(_ error: JSONSyntaxError) -> Bool {
        error.reason.hasSuffix(" is expected") && (error.reason.contains("}") || error.reason.contains("]"))
    }

    /// Whether the byte ends or starts a value also without a blank; a word behind a quotation mark is rather the rest of a string.
    private static func isBracket(_ byte: UInt8) -> Bool { "{}[]".utf8.contains(byte) }

    private static func startsValue(_ byte: UInt8) -> Bool { "\"{[-tfn".utf8.contains(byte) || byte.isDigit }

    private static func endsValue(_ byte: UInt8) -> Bool { "\"}]".utf8.contains(byte) || byte.isLetterOrDigit }
}
