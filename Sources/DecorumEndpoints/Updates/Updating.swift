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

    /// Updates a value by an endpoint that answers without content; the result has the new value of `base`.
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
            let current = try await versioned(of: source)
            return .success(Versioned(current.value, version: current.version, source: base.source))
        } catch let error as CancellationError {
            throw error
        } catch {
            return .failure(error)
        }
    }
}

/// A value was not updated, because it has changed on the server since it was read (412).
public struct ConflictError<Value: Sendable>: DescribableError, SecretHolder {
    /// The answer to the update.
    public let refusal: RefusalError
    /// The value that was not stored, with the version that it is based on.
    public let base: Versioned<Value>
    /// The value as it is now; nil if it cannot be had.
    public let current: Versioned<Value>?
    /// The reason why the current value cannot be had, such as a ``RefusalError`` with a 404 if it was deleted.
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
    /// It is true if the update was sent more than once: the server may have carried it out before its answer was lost.
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

/// A value together with the version that it was read in, so that an update does not overwrite the changes of others.
public struct Versioned<Value: Sendable>: Sendable {
    /// The value, which the app may change.
    public var value: Value
    /// The version that was read.
    public let version: Version
    /// The endpoint that the value was read from, which gives the current value after a conflict.
    public let source: Endpoint<Value>

    /// Creates a value with its version, such as of a store; each parameter is the property of its name.
    public init(_ value: Value, version: Version, source: Endpoint<Value>) {
        self.value = value
        self.version = version
        self.source = source
    }
}

extension Versioned: Equatable where Value: Equatable {
    /// Compares values and versions.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.value == rhs.value && lhs.version == rhs.version
    }
}

extension Versioned: SecretHolder {
    /// The type of the value and the source; never the value.
    public var description: String { "a versioned value of \(Value.self) from \(source.method) \(source.path.text)" }
}

/// The version of a resource: its entity tag and its date, as the server has given them (RFC 9110, section 8.8).
public struct Version: Sendable, Hashable, Codable {
    /// The value of `ETag`, with its quotation marks; nil if the response had none.
    public let entityTag: String?
    /// The value of `Last-Modified`; nil if the response had none.
    public let lastModified: String?

    /// Creates a version; each parameter is the property of its name.
    public init(entityTag: String?, lastModified: String? = nil) {
        self.entityTag = entityTag
        self.lastModified = lastModified
    }

    init(_ head: HTTPResponse) {
        self.init(entityTag: head.headerFields[.eTag], lastModified: head.headerFields[.lastModified])
    }

    /// The field that lets a server refuse an update of another version; nil if the version allows no such field.
    ///
    /// It is `If-Match` with a strong entity tag, or else `If-Unmodified-Since`, which misses a second change within the same
    /// second. A weak entity tag never matches there (RFC 9110, section 13.1.1).
    var precondition: HTTPField? {
        if let entityTag, entityTag.hasPrefix("\"") { return HTTPField(name: .ifMatch, value: entityTag) }
        return lastModified.map { HTTPField(name: .ifUnmodifiedSince, value: $0) }
    }
}

/// A value cannot be updated safely, because its response had neither a strong entity tag nor a date.
public struct MissingVersionError: DescribableError, Hashable {
    /// The entity tag, which is weak; nil if the response had no tag.
    let entityTag: String?

    /// The reason, and a way to go on.
    public var description: String {
        (entityTag == nil ? "The response had no ETag and no Last-Modified" : "The response had only a weak ETag")
            + ", so the server cannot tell whether the value has changed since. Nothing was sent. Call the endpoint of the "
            + "update with `value(of:)` if the changes of others may be overwritten."
    }
}
