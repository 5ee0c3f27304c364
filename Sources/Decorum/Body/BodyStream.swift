import Foundation
import HTTPTypes
import Synchronization

/// A body that is opened when it is read.
///
/// It is a class, so that all copies of a `once` body share the one reading.
final class BodyStream: Sendable {
    typealias Open = @Sendable (_ offset: Int64) async throws -> any BodyReader

    private enum Source: Sendable {
        case opened(by: Open)
        case observed(Body, [BodyObservation])
    }

    let length: Int64?
    let replay: Body.Replay
    /// Whether the content is in memory or a file.
    let isAtHand: Bool
    private let unopened: Mutex<Source?>

    init(length: Int64?, replay: Body.Replay, open: @escaping Open) {
        self.length = length
        self.replay = replay
        isAtHand = false
        unopened = Mutex(.opened(by: open))
    }

    /// Creates the stream of a body that is observed while it is read.
    init(_ body: Body, observedBy observer: any BodyObserver) {
        length = body.length
        replay = body.replay
        isAtHand = body.isAtHand
        let observation = BodyObservation(observer)
        // One reader serves all observers: with a reader for each, every chunk would pass through all readers.
        if case .stream(let stream) = body.storage,
            case .observed(let body, let observations) = stream.unopened.withLock({ $0 })
        {
            unopened = Mutex(.observed(body, observations + [observation]))
        } else {
            unopened = Mutex(.observed(body, [observation]))
        }
    }

    func open(at offset: Int64) async throws -> any BodyReader {
        let source = unopened.withLock { stored in
            // From here on, only the reader keeps the transfer alive, not the body.
            let source = stored
            if replay == .once { stored = nil }
            return source
        }
        switch source {
        case .opened(let open): return try await open(offset)
        case .observed(let body, let observations): return try await observations.open(body, at: offset)
        case nil: throw BodyReadTwiceError()
        }
    }
}

/// Checks that a stream has the promised length: a request whose `Content-Length` was sent cannot be corrected later.
struct LengthCheckingBodyReader: BodyReader {
    var reader: any BodyReader
    var remaining: Int64

    mutating func next() async throws -> Data? {
        let chunk = try await reader.next()
        remaining -= Int64(chunk?.count ?? 0)
        guard chunk == nil ? remaining == 0 : remaining >= 0 else { throw BodyLengthError() }
        return chunk
    }

    var trailers: HTTPFields? { reader.trailers }
}

struct SequenceBodyReader<Iterator: AsyncIteratorProtocol>: BodyReader where Iterator.Element == Data {
    var iterator: Iterator

    mutating func next() async throws -> Data? {
        while let chunk = try await iterator.next(isolation: #isolation) {
            if !chunk.isEmpty { return chunk }
        }
        return nil
    }

    var trailers: HTTPFields? { nil }
}

struct DataBodyReader: BodyReader {
    private var data: Data

    init(_ data: Data) {
        self.data = data
    }

    mutating func next() -> Data? {
        guard !data.isEmpty else { return nil }
        defer { data = Data() }
        return data
    }

    var trailers: HTTPFields? { nil }
}

/// A body that may be read only once was opened a second time.
public struct BodyReadTwiceError: DescribableError, Hashable {
    /// Creates an error.
    public init() {}

    /// A sentence that says what happened and how to avoid it.
    public var description: String {
        "The body was read a second time but can be read only once; keep what was read, or make it from bytes or "
            + "a file."
    }
}

/// A body was opened at an offset that it does not have or that it cannot start from.
public struct BodyOffsetError: DescribableError, Hashable {
    /// The offset that was asked for, in bytes.
    public let offset: Int64

    /// Creates an error.
    ///
    /// - Parameter offset: The offset that was asked for, in bytes.
    public init(offset: Int64) {
        self.offset = offset
    }

    /// A sentence that says what happened.
    public var description: String { "The body cannot be read from offset \(offset)." }
}

/// A body gave fewer or more bytes than its length promised.
public struct BodyLengthError: DescribableError, Hashable {
    /// Creates an error.
    public init() {}

    /// A sentence that says what happened.
    public var description: String { "The body does not have as many bytes as its length says." }
}
