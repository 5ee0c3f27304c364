public import Foundation
public import HTTPTypes

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
