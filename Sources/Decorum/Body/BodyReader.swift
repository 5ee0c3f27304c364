public import Foundation
public import HTTPTypes

/// Reads a body once, chunk by chunk, from front to back.
///
/// A reader belongs to one task. Letting go of it before the end ends the transfer behind it.
public protocol BodyReader {
    /// Reads the next chunk.
    ///
    /// - Returns: A chunk, which is not empty, or nil at the end of the body, and from then on.
    /// - Throws: What keeps the rest of the body from being read; a body cut short never ends in nil.
    nonisolated(nonsending) mutating func next() async throws -> Data?

    /// The trailer fields, once ``next()`` has returned nil; nil where there are none.
    var trailers: HTTPFields? { get }
}

extension BodyReader {
    /// No trailer fields.
    public var trailers: HTTPFields? { nil }
}
