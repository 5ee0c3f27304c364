public import Foundation
public import HTTPTypes

/// Reads a body once, chunk by chunk, from front to back.
///
/// A reader belongs to one task. Letting go of it before the end ends the transfer behind it.
///
/// One that wraps another reads it to its end, and passes its trailer fields on:
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
    /// - Returns: A chunk, which is not empty, or nil at the end of the body, and from then on.
    /// - Throws: What keeps the rest of the body from being read; a body cut short never ends in nil.
    nonisolated(nonsending) mutating func next() async throws -> Data?

    /// The trailer fields, once ``next()`` has returned nil; nil where there are none.
    ///
    /// There is no default, since a reader that wraps another and forgot them would drop them in silence.
    var trailers: HTTPFields? { get }
}
