public import Foundation

/// A storage for bodies that are too large for the values of a ``SharedStorage``, such as an object store.
///
/// Each body is written once under a name of its own, and never changed.
public protocol SharedBodyStorage: Sendable {
    /// The largest body, in bytes.
    var bodyLimit: Int { get }

    /// Writes a body, unless one of its name is there.
    ///
    /// - Throws: The error that prevents writing.
    func write(_ content: Data, named name: SharedKey) async throws

    /// Reads a body.
    ///
    /// - Returns: The bytes; nil for a missing body, and for more than ``bodyLimit``.
    /// - Throws: The error that prevents reading.
    func content(named name: SharedKey) async throws -> Data?

    /// Removes a body, if there is one.
    ///
    /// - Throws: The error that prevents the removal.
    func removeContent(named name: SharedKey) async throws
}
