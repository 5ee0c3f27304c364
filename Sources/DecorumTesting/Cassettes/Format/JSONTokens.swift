import Decorum

/// The tokens of a JSON document, without the blanks between them.
struct JSONTokens: Sequence, IteratorProtocol {
    private var scanner: JSONScanner

    /// Creates the tokens of a document that is known to be JSON.
    init(_ bytes: [UInt8], in range: Range<Int>) {
        scanner = JSONScanner(bytes, range: range)
    }

    mutating func next() -> ArraySlice<UInt8>? {
        guard let token = try? scanner.token() else { return nil }
        return scanner.bytes[token]
    }

    /// The tokens, joined without blanks.
    consuming func joined() -> [UInt8] {
        var output: [UInt8] = []
        // Tokens without a blank between them are copied at once.
        var run = scanner.position..<scanner.position
        while let token = try? scanner.token() {
            if token.lowerBound > run.upperBound {
                output += scanner.bytes[run]
                run = token
            } else {
                run = run.lowerBound..<token.upperBound
            }
        }
        output += scanner.bytes[run]
        return output
    }
}
