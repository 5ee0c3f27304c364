public import Foundation

/// The content of a request or a response: bytes, a file, or a stream of chunks.
///
/// ```swift
/// let text = try await response.body.text(upTo: 1 << 20)
/// ```
///
/// Read it whole, under a limit, or chunk by chunk:
///
/// ```swift
/// for try await chunk in response.body {
///     try file.write(contentsOf: chunk)
/// }
/// ```
///
/// ``mediaType`` is known for JSON, text, forms and files, and becomes the `Content-Type` of a request.
///
/// ``replay`` states how often a body may be read: see ``Replay``. Opening a read-once body for the second time throws
/// ``BodyReadTwiceError``; it never reads as empty. A response's body owns its transfer: when the body, or the iterator
/// that reads it, is dropped before the end, the transfer stops and the connection is closed.
///
/// Two bodies are equal when both were made from bytes that are equal, when both are the same file, or when they
/// are copies of one stream. Their media types are not compared.
public struct Body: Sendable {
    /// How often a body may be read, and from which offsets.
    public enum Replay: Sendable, Comparable {
        /// One time, from the start.
        case once
        /// Any number of times, from the start.
        case fromStart
        /// Any number of times, from any offset.
        case fromAnyOffset
    }

    enum Storage: Sendable {
        case bytes(Data)
        case file(BodyFile)
        case stream(BodyStream)
    }

    let holding: Holding

    /// A body without content.
    public static let empty = Body(Data())

    /// Creates a body from bytes.
    public init(_ data: Data) {
        self.init(.bytes(data))
    }

    /// Creates a body from a file, which is read each time the body is read.
    ///
    /// The length is the current length of the file. If the file is shorter when it is read, reading throws. The media
    /// type follows from the extension of the file's name, where that is a common one.
    ///
    /// - Parameter file: The URL of a regular file.
    /// - Throws: An error of Foundation's when there is no such file.
    public init(contentsOf file: URL) throws {
        self.init(.file(try BodyFile(file)))
    }

    /// Creates a body from a sequence of chunks, which is read once.
    ///
    /// - Parameters:
    ///   - chunks: The content.
    ///   - length: The number of bytes in all; nil when not known.
    public init<Chunks: AsyncSequence & Sendable>(chunks: Chunks, length: Int64? = nil) where Chunks.Element == Data {
        self.init(length: length, replay: .once) { _ in
            SequenceBodyReader(iterator: chunks.makeAsyncIterator())
        }
    }

    /// Creates a body from a closure that opens it.
    ///
    /// The values that the closure captures live until a ``Replay/once`` body is opened, or until any other body is
    /// dropped. Reading throws ``BodyLengthError`` when the reader gives another number of bytes than `length`.
    ///
    /// - Parameters:
    ///   - length: The number of bytes in all; nil when not known.
    ///   - replay: How often the closure may be called, and with which offsets.
    ///   - open: Opens the body at an offset, which is 0 unless `replay` is ``Replay/fromAnyOffset``.
    public init(
        length: Int64? = nil,
        replay: Replay,
        open: @escaping @Sendable (_ offset: Int64) async throws -> any BodyReader
    ) {
        guard let length else {
            self.init(trustedLength: nil, replay: replay, open: open)
            return
        }
        self.init(trustedLength: length, replay: replay) { offset in
            LengthCheckingBodyReader(reader: try await open(offset), remaining: length - offset)
        }
    }

    /// Creates a body whose reader is known to give exactly `length` bytes, or to throw.
    init(trustedLength length: Int64?, replay: Replay, open: @escaping BodyStream.Open) {
        self.init(.stream(BodyStream(length: length, replay: replay, open: open)))
    }

    /// Creates the body of a response whose content has arrived, and can be read once, as if it were still to come.
    package init(arrived content: Data) {
        self.init(.stream(BodyStream(arrived: content)))
    }

    init(_ storage: Storage) {
        holding = .plain(storage)
    }

    init(_ storage: Storage, mediaType: String?) {
        holding = .typed(storage, mediaType: mediaType)
    }

    /// The number of bytes; nil when not known.
    public var length: Int64? {
        switch storage {
        case .bytes(let data): Int64(data.count)
        case .file(let file): file.length
        case .stream(let stream): stream.length
        }
    }

    /// How often the body may be read, and from which offsets.
    public var replay: Replay {
        switch storage {
        case .bytes, .file: .fromAnyOffset
        case .stream(let stream): stream.replay
        }
    }

    /// Whether the content is in memory or a file, so that its reader waits for nothing else.
    var isAtHand: Bool {
        switch storage {
        case .bytes, .file: true
        case .stream(let stream): stream.isAtHand
        }
    }

    /// Whether the body is known to have no content.
    public var isEmpty: Bool { length == 0 }

    /// The content when it is in memory already; otherwise nil, also after a read-once body was opened.
    public var bytes: Data? {
        switch storage {
        case .bytes(let data): data
        case .file: nil
        case .stream(let stream): stream.bytes
        }
    }

    /// The file when the content is one whole file; otherwise nil.
    public var file: URL? {
        guard case .file(let file) = storage else { return nil }
        return file.url
    }

    /// Opens the body for reading.
    ///
    /// - Parameter offset: The offset to start at, in bytes; any offset but 0 needs ``Replay/fromAnyOffset``.
    /// - Returns: A reader for one task.
    /// - Throws: ``BodyReadTwiceError``, ``BodyOffsetError``, or the error that prevents opening.
    public func open(at offset: Int64 = 0) async throws -> any BodyReader {
        guard offset == 0 || (replay == .fromAnyOffset && offset > 0 && offset <= length ?? .max) else {
            throw BodyOffsetError(offset: offset)
        }
        switch storage {
        case .bytes(let data): return DataBodyReader(data: data.dropFirst(Int(offset)))
        case .file(let file):
            return FileBodyReader(file: try OpenFile(reading: file.url), offset: offset, length: file.length)
        case .stream(let stream): return try await stream.open(at: offset)
        }
    }
}

extension Body: Equatable {
    /// Compares bytes by value, files by URL and length, and streams by identity.
    public static func == (lhs: Body, rhs: Body) -> Bool {
        switch (lhs.storage, rhs.storage) {
        case (.bytes(let lhs), .bytes(let rhs)): lhs == rhs
        case (.file(let lhs), .file(let rhs)): lhs == rhs
        case (.stream(let lhs), .stream(let rhs)): lhs === rhs
        default: false
        }
    }
}

extension Body: AsyncSequence {
    /// Reads a body; it opens the body at the first chunk.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var body: Body?
        private var reader: (any BodyReader)?

        init(_ body: Body) {
            self.body = body
        }

        /// Reads the next chunk.
        public mutating func next() async throws -> Data? {
            try await next(isolation: #isolation)
        }

        /// Reads the next chunk on the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
            if let unopened = body {
                body = nil
                reader = try await unopened.open()
            }
            return try await reader?.next()
        }
    }

    /// Makes an iterator, which opens the body at its first chunk.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(self)
    }
}

@available(*, unavailable)
extension Body.AsyncIterator: Sendable {}

extension Body: SecretHolder {
    /// The kind and the length; never the content.
    public var description: String {
        let length = length.map { "\($0) bytes" } ?? "unknown length"
        return switch storage {
        case .bytes: length
        case .file: "\(length) in a file"
        case .stream: "a stream of \(length), read \(replay)"
        }
    }
}
