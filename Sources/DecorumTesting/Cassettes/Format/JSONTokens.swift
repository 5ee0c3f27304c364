import Decorum

/// The tokens of a JSON document, without the blanks between them.
struct JSONTokens: Sequence, IteratorProtocol {
    private var scanner: JSONScanner
    private let range: Range<Int>

    /// Creates the tokens of a document that is known to be JSON.
    init(_ bytes: [UInt8], in range: Range<Int>) {
        scanner = JSONScanner(bytes, range: range)
        self.range = range
    }

    mutating func next() -> ArraySlice<UInt8>? {
        guard let token = try? scanner.token() else { return nil }
        return scanner.bytes[token]
    }

    /// The tokens, joined without blanks.
    func joined() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: range.count) { output, length in
            // A local variable, because the parameter would be written for each byte.
            var count = 0
            defer { length = count }
            unsafe scanner.bytes.withUnsafeBufferPointer { bytes in
                var index = range.lowerBound
                while index < range.upperBound {
                    let byte = unsafe bytes[index]
                    index += 1
                    guard byte > 0x20 else { continue }
                    unsafe output[count] = byte
                    count += 1
                    guard byte == UInt8(ascii: "\"") else { continue }
                    // A string is copied with its blanks, up to the quotation mark that is not escaped.
                    while index < range.upperBound {
                        let byte = unsafe bytes[index]
                        unsafe output[count] = byte
                        index += 1
                        count += 1
                        if byte == UInt8(ascii: "\"") { break }
                        guard byte == UInt8(ascii: "\\"), index < range.upperBound else { continue }
                        unsafe output[count] = unsafe bytes[index]
                        index += 1
                        count += 1
                    }
                }
            }
        }
    }
}
