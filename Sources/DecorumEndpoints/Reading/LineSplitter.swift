import Foundation

/// Splits content into lines that end with a line feed, in pieces of any size.
///
/// Take all lines of a piece before the next one.
struct LineSplitter {
    private let limit: Int
    private var chunk = Data()
    /// The begin of a line whose end has not arrived.
    private var line = Data()

    init(limit: Int) {
        self.limit = limit
    }

    mutating func append(_ chunk: Data) {
        self.chunk = chunk
    }

    /// The next line without its end; nil where that has not arrived.
    ///
    /// - Throws: ``LineLimit`` for a line that is longer than the limit.
    mutating func next() throws(LineLimit) -> Data? {
        guard !chunk.isEmpty else { return nil }
        guard let end = chunk.offsetOfLineFeed else {
            try keep(chunk)
            chunk = Data()
            return nil
        }
        let part = chunk.prefix(end)
        chunk = chunk.dropFirst(end + 1)
        guard !line.isEmpty || part.count > limit else { return part }
        try keep(part)
        defer { line = Data() }
        return line
    }

    /// The rest of the content, which is a line too; nil where there is none.
    mutating func last() -> Data? {
        defer { line = Data() }
        return line.isEmpty ? nil : line
    }

    private mutating func keep(_ part: Data) throws(LineLimit) {
        guard line.count + part.count <= limit else { throw LineLimit() }
        line.append(part)
    }

    struct LineLimit: Error {}
}

extension Data {
    fileprivate var offsetOfLineFeed: Int? {
        // The pointer is used only within the closure.
        unsafe withUnsafeBytes { bytes in
            var index = 0
            while index < bytes.count {
                if unsafe bytes[index] == UInt8(ascii: "\n") { return index }
                index += 1
            }
            return nil
        }
    }
}
