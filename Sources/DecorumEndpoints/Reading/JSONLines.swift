public import Decorum
public import Foundation

extension Response {
    /// Reads the content as lines of JSON, each of which is a value (JSON Lines, NDJSON).
    ///
    /// ```swift
    /// for try await row in response.jsonLines(of: Row.self, upTo: 1 << 20) {
    ///     table.append(row)
    /// }
    /// ```
    ///
    /// Lines end with a line feed, which the last one may lack. Lines without content are left out. The values of a chunk are
    /// decoded together on the global executor, at most 64 at a time, and no more is read than the reader takes.
    ///
    /// - Parameters:
    ///   - type: The type of the values.
    ///   - limit: The largest number of bytes of a line.
    ///   - decoder: The decoder; an endpoint that is read as ``ResponseReading/jsonLines(upTo:)`` has that of its API.
    /// - Returns: The values, which can be read as often as the body.
    public func jsonLines<Value: Decodable & Sendable>(
        of type: Value.Type, upTo limit: Int, using decoder: JSONDecoder = JSONDecoder()
    ) -> JSONLines<Value> {
        JSONLines(response: self, limit: limit, decoder: decoder)
    }
}

extension ResponseReading {
    /// Reads the content as lines of JSON while they arrive, with the decoder of the API.
    ///
    /// ```swift
    /// extension Endpoint where Value == JSONLines<Row> {
    ///     static var rows: Self { Self(.get, "export", as: .jsonLines()) }
    /// }
    /// ```
    ///
    /// The value is a sequence of the rows:
    ///
    /// ```swift
    /// for try await row in try await api.value(of: .rows) { table.append(row) }
    /// ```
    ///
    /// - Parameter limit: The largest number of bytes of a line; by default, 1 MiB.
    /// - Returns: The reading.
    public static func jsonLines<Row>(upTo limit: Int = 1 << 20) -> Self where Value == JSONLines<Row> {
        Self(accept: "application/jsonl, application/x-ndjson") { response, settings in
            response.jsonLines(of: Row.self, upTo: limit, using: settings.decoder)
        }
    }
}

/// The values of a response whose content is lines of JSON.
///
/// It throws ``JSONLineError`` that shows the line, after the values of the lines before it.
public struct JSONLines<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// The type of the values.
    public typealias Element = Value

    fileprivate let response: Response
    fileprivate let limit: Int
    fileprivate let decoder: JSONDecoder

    /// Makes an iterator, which opens the body for its first value.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(self)
    }

    /// Reads the values of one response.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var body: Body.AsyncIterator
        private let decoder: LineDecoder<Value>
        private let limit: Int
        private var splitter: LineSplitter
        /// The number of the last line.
        private var number = 0
        private var values: ArraySlice<Value> = []
        private var failure: (any Error)?
        private var hasEnded = false

        fileprivate init(_ lines: JSONLines) {
            body = lines.response.body.makeAsyncIterator()
            var response = lines.response
            response.body = .empty
            decoder = LineDecoder(response: response, decoder: lines.decoder)
            limit = lines.limit
            splitter = LineSplitter(limit: lines.limit)
        }

        /// Reads the next value.
        public mutating func next() async throws -> Value? {
            try await next(isolation: #isolation)
        }

        /// Reads the next value on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Value? {
            do {
                while true {
                    if let value = values.popFirst() { return value }
                    if let failure { throw failure }
                    if hasEnded { return nil }
                    try await fill()
                }
            } catch {
                hasEnded = true
                failure = nil
                throw error
            }
        }

        private mutating func fill() async throws {
            var lines = takeLines()
            if lines.isEmpty, failure == nil {
                if let chunk = try await body.next() {
                    splitter.append(chunk)
                    return
                }
                hasEnded = true
                lines = splitter.last().map { [$0] } ?? []
            }
            let decoded = await decoder.decode(lines, after: number)
            number += lines.count
            values = decoded.values[...]
            // The fault of a value comes before that of a line behind it.
            failure = decoded.failure ?? failure
        }

        private mutating func takeLines() -> [Data] {
            var lines: [Data] = []
            do {
                while lines.count < 64, let line = try splitter.next() { lines.append(line) }
            } catch {
                failure = JSONLineError(longerThan: limit, at: number + lines.count + 1)
            }
            return lines
        }
    }
}

@available(*, unavailable)
extension JSONLines.AsyncIterator: Sendable {}

/// Decodes lines of the content of a response.
private struct LineDecoder<Value: Decodable & Sendable>: Sendable {
    /// The response without its body, for errors.
    let response: Response
    let decoder: JSONDecoder

    /// Decodes lines up to the first that is at fault.
    @concurrent func decode(_ lines: [Data], after number: Int) async -> (values: [Value], failure: (any Error)?) {
        var values: [Value] = []
        for (index, line) in lines.enumerated() where line.contains(where: { $0 > 0x20 }) {
            var response = response
            response.body = Body(line)
            do {
                values.append(try await response.decode(Value.self, upTo: .max, using: decoder))
            } catch {
                return (values, JSONLineError(error, at: number + index + 1))
            }
        }
        return (values, nil)
    }
}

/// A line of a response is not the JSON that the app expects, or is too long.
public struct JSONLineError: DescribableError {
    /// The number of the line, from 1.
    public let line: Int
    /// The error of the line, mostly a `ResponseDecodingError`; nil if the line is too long.
    public let underlying: (any Error)?
    /// A sentence with the line and the place in it; never a part of the content.
    public let description: String

    init(_ error: any Error, at line: Int) {
        self.line = line
        underlying = error
        description = "Line \(line): \(Redaction.standard.description(of: error))"
    }

    init(longerThan limit: Int, at line: Int) {
        self.line = line
        underlying = nil
        description = "Line \(line) has more than \(limit) bytes. Raise `upTo:` if the server is trusted."
    }
}

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

    /// The next line without its end; nil if that has not arrived.
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

    /// The rest of the content, which is a line too; nil without one.
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
