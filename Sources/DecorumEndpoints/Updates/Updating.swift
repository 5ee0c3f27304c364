public import Decorum
import Foundation
import HTTPTypes

extension Connection {
    /// Calls an endpoint, and returns its value with its version.
    ///
    /// - Parameter endpoint: The endpoint.
    /// - Returns: The value with its version, which `update(_:by:)` needs.
    /// - Throws: As `value(of:)`.
    public func versioned<Value>(of endpoint: Endpoint<Value>) async throws -> Versioned<Value> {
        let response = try await response(of: endpoint)
        return Versioned(response.value, version: Version(response.head), source: endpoint)
    }

    /// Updates a value, unless it has changed on the server since it was read.
    ///
    /// - Parameters:
    ///   - base: The value with the version that was read.
    ///   - endpoint: The endpoint of the update, which answers with the new value.
    /// - Returns: The new value with its version.
    /// - Throws: ``ConflictError`` with the current value for a 412; ``MissingVersionError`` before anything is sent; and as
    ///   `value(of:)`.
    public func update<Value>(
        _ base: Versioned<Value>, by endpoint: Endpoint<Value>
    ) async throws -> Versioned<Value> {
        let response = try await conditionalResponse(of: endpoint, base)
        return Versioned(response.value, version: Version(response.head), source: base.source)
    }

    /// Updates a value, unless it has changed on the server since it was read.
    ///
    /// - Parameters:
    ///   - base: The new value with the version that was read.
    ///   - endpoint: The endpoint of the update, which answers without content.
    /// - Returns: The value of `base` with the version of the answer.
    /// - Throws: As `update(_:by:)`.
    @_disfavoredOverload  // So that `.put(…)`, which makes both, means the update whose answer is the value.
    public func update<Value>(
        _ base: Versioned<Value>, by endpoint: Endpoint<Void>
    ) async throws -> Versioned<Value> {
        let response = try await conditionalResponse(of: endpoint, base)
        return Versioned(base.value, version: Version(response.head), source: base.source)
    }

    private func conditionalResponse<Value, Result>(
        of endpoint: Endpoint<Result>, _ base: Versioned<Value>
    ) async throws -> TypedResponse<Result> {
        guard let precondition = base.version.precondition else {
            throw MissingVersionError(entityTag: base.version.entityTag)
        }
        var endpoint = endpoint
        endpoint.fields[precondition.name] = precondition.value
        do {
            return try await response(of: endpoint)
        } catch let error as RefusalError where error.status == .preconditionFailed {
            throw ConflictError(refusal: error, base: base, current: try await current(base))
        }
    }

    /// The value as it is now, or the reason why it cannot be had.
    private func current<Value>(_ base: Versioned<Value>) async throws -> Result<Versioned<Value>, any Error> {
        var source = base.source
        // An answer from a cache may be the version that was read before.
        if source.fields[.cacheControl] == nil { source.fields[.cacheControl] = "no-cache" }
        do {
            return .success(try await versioned(of: source).from(base.source))
        } catch let error as CancellationError {
            throw error
        } catch {
            return .failure(error)
        }
    }
}

extension Versioned {
    fileprivate func from(_ source: Endpoint<Value>) -> Self {
        Versioned(value, version: version, source: source)
    }
}

/// A value was not updated, because it has changed on the server since it was read (412).
///
/// ```swift
/// do {
///     note = try await connection.update(note, by: .saving(note.value))
/// } catch let conflict as ConflictError<Note> {
///     guard var current = conflict.current else { throw conflict }
///     current.value.title = note.value.title
///     note = try await connection.update(current, by: .saving(current.value))
/// }
/// ```
public struct ConflictError<Value: Sendable>: DescribableError {
    /// The answer to the update.
    public let refusal: RefusalError
    /// The value that was not stored, with the version that it is based on.
    public let base: Versioned<Value>
    /// The value as it is now; nil where it cannot be had.
    public let current: Versioned<Value>?
    /// The reason why the current value cannot be had, such as a ``RefusalError`` with a 404 where it was deleted.
    public let readingError: (any Error)?

    init(refusal: RefusalError, base: Versioned<Value>, current: Result<Versioned<Value>, any Error>) {
        self.refusal = refusal
        self.base = base
        switch current {
        case .success(let current):
            self.current = current
            readingError = nil
        case .failure(let error):
            self.current = nil
            readingError = error
        }
    }

    /// Whether the change may be the one that was asked for.
    ///
    /// It is true where the update was sent more than once: the server may have carried it out before its answer was lost.
    /// Compare ``current`` with ``base``.
    public var mayBeOwnChange: Bool { refusal.statusError.response.metadata.attempts > 1 }

    /// The request, and where the current value is; never a value.
    public var description: String {
        let own =
            mayBeOwnChange
            ? " The update was sent \(refusal.statusError.response.metadata.attempts) times, so it may be the change."
            : ""
        let place = current == nil ? "The current value cannot be read; see `readingError`." : "It is in `current`."
        return "The value was not updated, because it has changed on the server since it was read.\(own) \(place) "
            + refusal.description
    }
}

extension ConflictError: CustomDebugStringConvertible, CustomReflectable {
    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, since the values may be secret.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
