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
        case arrived(Data)
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

    /// Creates the stream of content that has arrived as a whole, which is read once like any other.
    init(arrived content: Data) {
        (length, replay, isAtHand) = (Int64(content.count), .once, true)
        unopened = Mutex(.arrived(content))
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

    /// The content that has arrived and was not read; nil for a stream that waits for its content.
    var bytes: Data? {
        unopened.withLock { if case .arrived(let content) = $0 { content } else { nil } }
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
        case .arrived(let content):
            try Task.checkCancellation()
            return DataBodyReader(data: content)
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
    var data: Data

    mutating func next() -> Data? {
        guard !data.isEmpty else { return nil }
        defer { data = Data() }
        return data
    }

    var trailers: HTTPFields? { nil }
}

/// A body that may be read only once was opened a second time.
public struct BodyReadTwiceError: DescribableError, Hashable {
    package init() {}

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

    package init(offset: Int64) {
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

extension Body {
    /// The body as another reader reads it, from an offset on.
    package func read(
        by wrap: @escaping @Sendable (_ reader: any BodyReader, _ offset: Int64) -> any BodyReader
    ) -> Body {
        Body(length: length, replay: replay) { wrap(try await open(at: $0), $0) }.typed(as: mediaType)
    }

    /// The part of a body between two of its offsets; the body can be read from any of them.
    package func slice(_ bounds: Range<Int64>) -> Body {
        if let bytes { return Body(bytes.dropFirst(Int(bounds.lowerBound)).prefix(bounds.count)) }
        return Body(length: Int64(bounds.count), replay: .fromAnyOffset) { offset in
            let reader = try await open(at: bounds.lowerBound + offset)
            return LimitedBodyReader(reader: reader, remaining: Int64(bounds.count) - offset)
        }
    }

    /// This body followed by another body; the result can be read once.
    package func followed(by rest: Body) -> Body {
        let total = length.flatMap { count in rest.length.map { count + $0 } }
        return Body(trustedLength: total, replay: .once) { _ in
            ChainedBodyReader(reader: try await open(), rest: rest)
        }
    }
}

private struct LimitedBodyReader: BodyReader {
    var reader: any BodyReader
    var remaining: Int64

    mutating func next() async throws -> Data? {
        guard remaining > 0, let chunk = try await reader.next() else { return nil }
        let part = chunk.prefix(Int(min(Int64(chunk.count), remaining)))
        remaining -= Int64(part.count)
        return part
    }

    // Trailer fields belong to the whole content, not to a part.
    var trailers: HTTPFields? { nil }
}

private struct ChainedBodyReader: BodyReader {
    var reader: any BodyReader
    var rest: Body?

    mutating func next() async throws -> Data? {
        if let chunk = try await reader.next() { return chunk }
        guard let rest else { return nil }
        self.rest = nil
        reader = try await rest.open()
        return try await reader.next()
    }

    // Once all is read, these are the trailer fields of the last body.
    var trailers: HTTPFields? { reader.trailers }
}

extension Body {
    /// Waits for the first chunk for a time, at most until a deadline.
    ///
    /// The result has that chunk, unless it has not arrived, and a body with all bytes, to whose reader any failure to read is
    /// left but cancellation.
    func readingAhead(
        within time: Duration, until deadline: ContinuousClock.Instant? = nil, on clock: any DatedClock
    ) async throws -> (chunk: Data?, body: Body) {
        let length = length
        let lease = ReadAheadLease(self)
        let end = clock.now + time
        let chunk = try await lease.firstChunk(until: Swift.min(end, deadline ?? end), on: clock)
        return (chunk, Body(trustedLength: length, replay: .once) { _ in ReadAheadReader(lease: lease) })
    }
}

/// The right to a body whose first chunk is read before somebody asks for it; the reading ends with the last holder.
private final class ReadAheadLease: Sendable {
    private let body: ReadAheadBody
    private let arrivals: AsyncStream<Never>
    private let reading: Task<Void, Never>

    init(_ body: Body) {
        let opened = ReadAheadBody(body)
        let (arrivals, signal) = AsyncStream.makeStream(of: Never.self)
        self.body = opened
        self.arrivals = arrivals
        // A task is released a little after its work ends. If it held the body, the transfer would stay open until then.
        reading = Task { [weak opened] in
            await opened?.readFirst()
            signal.finish()
        }
    }

    deinit { reading.cancel() }

    func firstChunk(until instant: ContinuousClock.Instant, on clock: any DatedClock) async throws -> Data? {
        try await withThrowingTaskGroup(of: Void.self) { [arrivals] group in
            group.addTask { for await _ in arrivals {} }
            group.addTask { try await clock.sleep(until: instant, tolerance: nil) }
            defer { group.cancelAll() }
            try await group.next()
        }
        try Task.checkCancellation()
        return try await body.arrived()
    }

    func next() async throws -> (chunk: Data?, trailers: HTTPFields?) {
        await withTaskCancellationHandler {
            await reading.value
        } onCancel: {
            reading.cancel()
        }
        return try await body.next()
    }
}

/// A body that is open, whose first chunk waits for the reader.
private actor ReadAheadBody {
    private var body: Body?
    private var reader: (any BodyReader)?
    private var first: Result<Data?, any Error>?

    init(_ body: Body) {
        self.body = body
    }

    func readFirst() async {
        do {
            reader = try await body.take()?.open()
            first = .success(try await readNext())
        } catch {
            first = .failure(error)
        }
    }

    /// Returns the first chunk, and leaves it to the reader; nil unless it has arrived and can be read.
    func arrived() throws -> Data? {
        if case .failure(let error as CancellationError) = first { throw error }
        return try? first?.get()
    }

    func next() async throws -> (chunk: Data?, trailers: HTTPFields?) {
        // A body that has failed does not seem to end at the next reading.
        if case .failure(let error) = first { throw error }
        let chunk = if let first = first.take() { try first.get() } else { try await readNext() }
        return (chunk, chunk == nil ? reader?.trailers : nil)
    }

    private func readNext() async throws -> Data? {
        var reader = reader.take()
        defer { self.reader = reader }
        return try await reader?.next()
    }
}

private struct ReadAheadReader: BodyReader {
    let lease: ReadAheadLease
    private(set) var trailers: HTTPFields?

    mutating func next() async throws -> Data? {
        let (chunk, trailers) = try await lease.next()
        if chunk == nil { self.trailers = trailers }
        return chunk
    }
}
