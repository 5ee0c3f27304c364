public import Decorum
import Foundation
public import HTTPTypes

/// A value together with the version that it was read in, so that an update does not overwrite the changes of others.
///
/// ```swift
/// var note = try await connection.versioned(of: .note(7))
/// note.value.title = "Monday"
/// note = try await connection.update(note, by: .saving(note.value))
/// ```
public struct Versioned<Value: Sendable>: Sendable {
    /// The value, which the app may change.
    public var value: Value
    /// The version that was read.
    public let version: Version
    /// The endpoint that the value was read from, which gives the current value after a conflict.
    public let source: Endpoint<Value>

    /// Creates a value with its version, such as of a store.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - version: The version that was read.
    ///   - source: The endpoint that the value was read from.
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

extension Versioned: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type of the value and the source; never the value.
    public var description: String { "a versioned value of \(Value.self) from \(source.method) \(source.path.text)" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// A mirror with only the description, since the value may be secret.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The version of a resource: its entity tag and its date, as the server has given them (RFC 9110, section 8.8).
public struct Version: Sendable, Hashable, Codable {
    /// The value of `ETag`, with its quotation marks; nil where the response had none.
    public let entityTag: String?
    /// The value of `Last-Modified`; nil where the response had none.
    public let lastModified: String?

    /// Creates a version.
    ///
    /// - Parameters:
    ///   - entityTag: The value of `ETag`, with its quotation marks.
    ///   - lastModified: The value of `Last-Modified`.
    public init(entityTag: String?, lastModified: String? = nil) {
        self.entityTag = entityTag
        self.lastModified = lastModified
    }

    /// Reads the version of a response.
    ///
    /// - Parameter head: The head of the response.
    public init(_ head: HTTPResponse) {
        self.init(entityTag: head.headerFields[.eTag], lastModified: head.headerFields[.lastModified])
    }

    /// The field that lets a server refuse an update of another version; nil where the version allows no such field.
    ///
    /// It is `If-Match` with a strong entity tag, or else `If-Unmodified-Since`, which misses a second change within the same
    /// second. A weak entity tag never matches there (RFC 9110, section 13.1.1).
    public var precondition: HTTPField? {
        if let entityTag, entityTag.hasPrefix("\"") { return HTTPField(name: .ifMatch, value: entityTag) }
        return lastModified.map { HTTPField(name: .ifUnmodifiedSince, value: $0) }
    }
}

/// A value cannot be updated safely, because its response had neither a strong entity tag nor a date.
public struct MissingVersionError: DescribableError, Hashable {
    /// The entity tag, which is weak; nil where there was none.
    public let entityTag: String?

    /// The reason, and a way to go on.
    public var description: String {
        (entityTag == nil ? "The response had no ETag and no Last-Modified" : "The response had only a weak ETag")
            + ", so the server cannot tell whether the value has changed since. Nothing was sent. Call the endpoint of the "
            + "update with `value(of:)` if the changes of others may be overwritten."
    }
}
