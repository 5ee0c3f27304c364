/// Where a document is not the JSON that is expected, and why.
package struct JSONSyntaxError: Error, Hashable, Sendable {
    /// What is wrong, as a clause without a subject's name.
    package let reason: String
    /// The byte at which it shows.
    package let offset: Int

    package init(reason: String, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The line, counted from 1, on which it shows.
    package func line(in bytes: [UInt8]) -> Int {
        bytes.prefix(offset).reduce(1) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    }
}
