/// Reads JSON (RFC 8259) from its beginning to its end, and returns the position of each value.
///
/// Values are skipped without being decoded, so that a large document can be indexed before any part of it is read. A
/// value counts whether it is read or skipped: see ``count``.
public struct JSONScanner: Sendable {
    /// The deepest nesting that is read.
    public static let depthLimit = 512

    /// The bytes of the document.
    public let bytes: [UInt8]
    /// The byte at which reading continues.
    public internal(set) var position: Int
    /// The number of values so far that were read or skipped; names of members do not count.
    public private(set) var count = 0
    let end: Int
    private let countLimit: Int
    /// Whether blanks and strings may have control characters, as in a sequence of texts (RFC 7464) or a careless log.
    let allowsControls: Bool
    /// The number of objects and arrays around the position that ``object(_:)`` and ``array(_:)`` are reading.
    private var depth = 0
    /// The closing bytes of the containers around the position in a value that is skipped, innermost last.
    ///
    /// It is a property, so that it takes memory once and not for each value.
    private var open: [UInt8] = []

    /// Creates a scanner.
    ///
    /// - Parameters:
    ///   - bytes: The document, with or without a byte order mark.
    ///   - range: The part to read; nil for all.
    ///   - countLimit: The largest number of values. A value of two bytes takes much more memory once it is read, so a
    ///     limit is useful for documents of others.
    public init(_ bytes: [UInt8], range: Range<Int>? = nil, countLimit: Int = .max) {
        self.init(bytes, range: range, countLimit: countLimit, allowsControls: false)
    }

    init(_ bytes: [UInt8], range: Range<Int>? = nil, countLimit: Int = .max, allowsControls: Bool) {
        let range = range ?? (bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)..<bytes.count
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "The range is in the bytes.")
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
        self.countLimit = countLimit
        self.allowsControls = allowsControls
    }

    /// Moves to the next byte that is not blank, and returns it without consuming it; nil at the end.
    public mutating func next() -> UInt8? {
        reading { cursor in cursor.next() }
    }

    /// Returns the next byte that is not blank, without consuming it.
    public mutating func peek() throws(JSONSyntaxError) -> UInt8 {
        try reading { cursor throws(JSONSyntaxError) in try cursor.peek() }
    }

    /// Consumes a byte that has to be the next one.
    public mutating func expect(_ byte: UInt8) throws(JSONSyntaxError) {
        try reading { cursor throws(JSONSyntaxError) in try cursor.expect(byte) }
    }

    /// Consumes a byte if it is the next one.
    package mutating func skip(_ byte: UInt8) throws(JSONSyntaxError) -> Bool {
        try reading { cursor throws(JSONSyntaxError) in try cursor.skip(byte) }
    }

    /// Consumes a string, which may be a name, and returns the range between its quotation marks.
    mutating func skipText() throws(JSONSyntaxError) -> Range<Int> {
        try reading { cursor throws(JSONSyntaxError) in try cursor.skipText() }
    }

    /// Consumes a bracket, a brace, a comma or a colon that ``next()`` returned.
    mutating func consumeMark() {
        position += 1
    }

    /// Consumes a number, `true`, `false` or `null`.
    mutating func skipScalar() throws(JSONSyntaxError) {
        try reading { cursor throws(JSONSyntaxError) in try cursor.skipScalar() }
    }

    /// Reads with a cursor from the current position, which moves with it also where it throws.
    @inline(__always) private mutating func reading<Value, Failure: Error>(
        _ read: (inout JSONCursor) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let (end, allowsControls) = (end, allowsControls)
        var position = position
        defer { self.position = position }
        return try unsafe bytes.withUnsafeBufferPointer { buffer throws(Failure) in
            // The range is checked when the scanner is made, so the end is in the bytes.
            var cursor = unsafe JSONCursor(buffer, at: position, end: end, allowsControls: allowsControls)
            defer { position = cursor.position }
            return try read(&cursor)
        }
    }

    /// Throws unless only blanks are left.
    public mutating func expectEnd() throws(JSONSyntaxError) {
        guard next() == nil else { throw fault("there is text after the end of the document") }
    }

    /// Reads an object; the closure gets the name of each member and has to consume the value.
    public mutating func object(
        _ member: (_ name: String, _ scanner: inout JSONScanner) throws -> Void
    ) throws {
        try container(UInt8(ascii: "{"), UInt8(ascii: "}")) { scanner in
            let name = try scanner.text(of: scanner.skipText())
            try scanner.expect(UInt8(ascii: ":"))
            try member(name, &scanner)
        }
    }

    /// Reads an array; the closure has to consume each element.
    public mutating func array(_ element: (_ scanner: inout JSONScanner) throws -> Void) throws {
        try container(UInt8(ascii: "["), UInt8(ascii: "]"), element)
    }

    private mutating func container(
        _ open: UInt8, _ close: UInt8, _ part: (_ scanner: inout JSONScanner) throws -> Void
    ) throws {
        try countValue()
        try expect(open)
        guard depth < Self.depthLimit else { throw fault(Self.depthFault) }
        depth += 1
        defer { depth -= 1 }
        if try skip(close) { return }
        repeat { try part(&self) } while try skip(UInt8(ascii: ","))
        try expect(close)
    }

    /// Reads a string.
    public mutating func string() throws(JSONSyntaxError) -> String {
        try text(of: skipString())
    }

    /// Consumes a string, and returns the range between its quotation marks.
    public mutating func skipString() throws(JSONSyntaxError) -> Range<Int> {
        try countValue()
        return try skipText()
    }

    /// Consumes a value of any kind, and returns its range.
    public mutating func skipValue() throws(JSONSyntaxError) -> Range<Int> {
        let (countLimit, depthLimit) = (countLimit, Self.depthLimit - depth)
        var (count, open) = (count, [] as [UInt8])
        swap(&open, &self.open)
        defer {
            self.count = count
            swap(&open, &self.open)
        }
        open.removeAll(keepingCapacity: true)
        return try reading { cursor throws(JSONSyntaxError) in
            _ = try cursor.peek()
            let start = cursor.position
            repeat {
                count += 1
                guard count <= countLimit else { throw cursor.fault(Self.countFault) }
                switch try cursor.peek() {
                case UInt8(ascii: "{"):
                    cursor.consumeMark()
                    if try !cursor.skip(UInt8(ascii: "}")) {
                        guard open.count < depthLimit else { throw cursor.fault(Self.depthFault) }
                        open.append(UInt8(ascii: "}"))
                        try Self.skipName(&cursor)
                        continue
                    }
                case UInt8(ascii: "["):
                    cursor.consumeMark()
                    if try !cursor.skip(UInt8(ascii: "]")) {
                        guard open.count < depthLimit else { throw cursor.fault(Self.depthFault) }
                        open.append(UInt8(ascii: "]"))
                        continue
                    }
                case UInt8(ascii: "\""): _ = try cursor.skipText()
                default: try cursor.skipScalar()
                }
                try Self.skipEnds(&open, &cursor)
            } while !open.isEmpty
            return start..<cursor.position
        }
    }

    /// Consumes a token and returns its range; nil at the end.
    ///
    /// A token is a bracket, a brace, a comma, a colon, a string with its quotation marks, or a scalar. Their order is
    /// not checked, and they do not count as values.
    public mutating func token() throws(JSONSyntaxError) -> Range<Int>? {
        guard let byte = next() else { return nil }
        let start = position
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","),
            UInt8(ascii: ":"):
            position += 1
        case UInt8(ascii: "\""): _ = try skipText()
        default: try skipScalar()
        }
        return start..<position
    }

    /// Consumes the bytes between a value and the next: the ends of containers, and a comma.
    @inline(__always) private static func skipEnds(
        _ open: inout [UInt8], _ cursor: inout JSONCursor
    ) throws(JSONSyntaxError) {
        while let close = open.last {
            if try cursor.skip(UInt8(ascii: ",")) {
                if close == UInt8(ascii: "}") { try skipName(&cursor) }
                return
            }
            guard try cursor.skip(close) else {
                throw cursor.fault("\(JSONCursor.name(of: close)) or a comma is expected")
            }
            open.removeLast()
        }
    }

    private static func skipName(_ cursor: inout JSONCursor) throws(JSONSyntaxError) {
        _ = try cursor.skipText()
        try cursor.expect(UInt8(ascii: ":"))
    }

    private static let countFault = "it has too many values"
    private static let depthFault = "it is nested too deeply"

    private mutating func countValue() throws(JSONSyntaxError) {
        count += 1
        guard count <= countLimit else { throw fault(Self.countFault) }
    }

    private func text(of content: Range<Int>) throws(JSONSyntaxError) -> String {
        guard let text = JSONText.text(of: bytes[content]) else { throw fault("a string is not Unicode text") }
        return text
    }

    /// Creates an error at the current position.
    ///
    /// - Parameter reason: The problem, as a clause.
    /// - Returns: The error.
    public func fault(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(reason: reason, offset: position) }
}
