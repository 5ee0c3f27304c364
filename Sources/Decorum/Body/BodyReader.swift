public import Foundation
public import HTTPTypes
import Synchronization

/// Reads a body once, chunk by chunk, from front to back.
///
/// A reader belongs to one task. Dropping it before the end ends its transfer.
///
/// A reader that wraps another reads it to its end and returns its trailer fields:
///
/// ```swift
/// struct CountingReader: BodyReader {
///     var reader: any BodyReader
///     let counter: ByteCounter
///
///     mutating func next() async throws -> Data? {
///         guard let chunk = try await reader.next() else { return nil }
///         counter.add(chunk.count)
///         return chunk
///     }
///
///     var trailers: HTTPFields? { reader.trailers }
/// }
///
/// response.body = Body(length: body.length, replay: body.replay) { offset in
///     CountingReader(reader: try await body.open(at: offset), counter: counter)
/// }
/// ```
public protocol BodyReader {
    /// Reads the next chunk.
    ///
    /// - Returns: A chunk, which is not empty, or nil at the end of the body and at each later call.
    /// - Throws: The error that prevents reading the rest of the body; an incomplete body never ends in nil.
    nonisolated(nonsending) mutating func next() async throws -> Data?

    /// The trailer fields, once ``next()`` has returned nil; nil when absent.
    ///
    /// There is no default implementation: with one, a wrapping reader that forgets the trailer fields would drop them
    /// silently.
    var trailers: HTTPFields? { get }
}

extension Body {
    /// Reads the whole body into memory, together with its trailer fields.
    ///
    /// - Parameter limit: The largest number of bytes to accept.
    /// - Returns: The content and the trailer fields; the fields are empty when the body has none.
    /// - Throws: ``BodyLimitError`` as soon as there are more bytes, ``BodyReadTwiceError``, or the error that prevents
    ///   reading.
    public func collect(upTo limit: Int) async throws -> (data: Data, trailers: HTTPFields) {
        guard length ?? 0 <= limit else { throw BodyLimitError(limit: limit, length: length) }
        if case .bytes(let data) = storage { return (data, [:]) }

        var reader = try await open()
        var data = Data()
        while let chunk = try await reader.next() {
            guard data.count + chunk.count <= limit else { throw BodyLimitError(limit: limit) }
            data.append(chunk)
        }
        return (data, reader.trailers ?? [:])
    }

    /// Reads the whole body into memory, as ``collect(upTo:)`` does.
    public func data(upTo limit: Int) async throws -> Data {
        try await collect(upTo: limit).data
    }

    /// Reads the whole body as text in UTF-8, as ``collect(upTo:)`` does; invalid bytes become U+FFFD.
    public func text(upTo limit: Int) async throws -> String {
        String(decoding: try await data(upTo: limit), as: UTF8.self)
    }
}

/// A body has more bytes than the caller accepts.
public struct BodyLimitError: DescribableError, Hashable {
    /// The largest number of bytes that was accepted.
    public let limit: Int
    /// The number of bytes of the body; nil unless it was announced.
    public let length: Int64?
    /// The response with the body, in words; nil if only the body was read.
    var response: String?

    /// Creates an error.
    public init(limit: Int, length: Int64? = nil) {
        self.limit = limit
        self.length = length
    }

    /// The limit, the length and the response as far as they are known, and the parameter to raise.
    public var description: String {
        let event = length.map { "The body has \($0) bytes, and \(limit) are accepted" }
        let owner = response.map { " It belongs to the \($0)." } ?? ""
        return "\(event ?? "The body has more than \(limit) bytes"). Raise `upTo:` (`limit:` of an `API`), "
            + "or read it chunk by chunk.\(owner)"
    }
}

extension Body {
    /// Reads the body to its end and drops it; returns whether the end was reached within the limit and without a failure.
    ///
    /// It reads for as long as the body comes, unlike ``discard(upTo:within:until:on:)``, and throws `CancellationError` alone.
    @discardableResult package func drain(upTo limit: Int) async throws -> Bool {
        guard length ?? 0 <= limit else { return false }
        do {
            var reader = try await open()
            var count: Int64 = 0
            while let chunk = try await reader.next() {
                count += Int64(chunk.count)
                guard count <= limit else { return false }
            }
            return true
        } catch {
            guard error is CancellationError else { return false }
            throw error
        }
    }

    /// Whether the current task reads a body only so that its connection can serve another request.
    ///
    /// If such a read is cancelled, the request itself is not cancelled: a layer has given up the rest of an answer that it does
    /// not need, and a recorder may read on.
    @TaskLocal package static var isDiscarding = false

    /// The time for reading a response that is not needed, such as a redirection or one that is retried: a second.
    public static let discardTime = Duration.seconds(1)

    /// Reads the rest of a response that is not needed, so that its connection can serve another request.
    ///
    /// A body that is longer than `limit`, or takes longer than `time` or than the deadline, is dropped instead: a new
    /// connection costs less than waiting for it. The layer declares the time as its ``Layer/Time/reading``.
    ///
    /// - Parameters:
    ///   - limit: The largest number of bytes to read.
    ///   - time: The longest time for reading them.
    ///   - deadline: The deadline of the request; nil without one.
    ///   - clock: The clock of the times.
    /// - Throws: `CancellationError`.
    public func discard(
        upTo limit: Int = 16 << 10, within time: Duration = discardTime,
        until deadline: ContinuousClock.Instant? = nil, on clock: any DatedClock = SystemClock()
    ) async throws {
        guard bytes == nil, length ?? 1 > 0 else { return }
        guard length ?? 0 <= limit else {
            // Its transfer ends with the reader, even if the caller still holds the response.
            if replay == .once { _ = try? await open() }
            return
        }
        let end = clock.now + time
        let instant = Swift.min(end, deadline ?? end)
        let unwanted = HeldBody(self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await Self.$isDiscarding.withValue(true) { _ = try await unwanted.take()?.drain(upTo: limit) }
            }
            group.addTask { try await clock.sleep(until: instant, tolerance: nil) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

/// A body that one task takes, once.
///
/// A task is released a little after its work has ended. If it captured the body itself, the transfer would stay open
/// until then.
final class HeldBody: Sendable {
    private let body: Mutex<Body?>

    init(_ body: Body) {
        self.body = Mutex(body)
    }

    func take() -> Body? {
        body.withLock { $0.take() }
    }
}
