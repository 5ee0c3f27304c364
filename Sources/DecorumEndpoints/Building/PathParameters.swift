public import Foundation

/// The values for the names of a ``PathTemplate``, as in `["owner": owner, "number": 17]`.
public struct PathParameters: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// One name with its value, as text.
    struct Item: Sendable, Hashable {
        let name: String
        let text: String
        /// The segments for `{/name*}`; nil for a value that is one text.
        let segments: [String]?
    }

    private(set) var items: [Item] = []

    /// Creates parameters from a literal.
    ///
    /// - Parameter elements: The names and values.
    public init(dictionaryLiteral elements: (String, any ParameterValue)...) {
        items.reserveCapacity(elements.count)
        for (name, value) in elements { append(name, value) }
    }

    /// Adds a value behind the others.
    ///
    /// - Parameters:
    ///   - name: The name in the template.
    ///   - value: The value.
    public mutating func append(_ name: String, _ value: any ParameterValue) {
        items.append(Item(name: name, text: value.parameterText, segments: value.parameterSegments))
    }
}

extension PathParameters: CustomStringConvertible, CustomReflectable {
    /// The names, without the values, which may be secret.
    public var description: String { items.map(\.name).joined(separator: ", ") }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// A value that has one obvious form as text in a path, a query or a form.
///
/// Give your own types that form:
///
/// ```swift
/// enum Order: String, ParameterValue { case newest, oldest }
/// ```
///
/// A `Date` has no such form, since each API has its own; turn it into text first.
public protocol ParameterValue: Sendable {
    /// The value as text, not encoded.
    var parameterText: String { get }
    /// The segments for `{/name*}` in a ``PathTemplate``, not encoded; nil, the default, for a value that is one text.
    var parameterSegments: [String]? { get }
}

extension ParameterValue {
    /// No segments.
    public var parameterSegments: [String]? { nil }
}

extension String: ParameterValue {
    /// The text itself.
    public var parameterText: String { self }
}

extension Substring: ParameterValue {
    /// The text itself.
    public var parameterText: String { String(self) }
}

extension Bool: ParameterValue {
    /// Either `true` or `false`.
    public var parameterText: String { self ? "true" : "false" }
}

extension ParameterValue where Self: BinaryInteger {
    /// The number in decimal digits.
    public var parameterText: String { String(self) }
}

extension ParameterValue where Self: BinaryFloatingPoint & CustomStringConvertible {
    /// The number in the shortest form that gives it back.
    public var parameterText: String { description }
}

extension ParameterValue where Self: RawRepresentable, RawValue: ParameterValue {
    /// The raw value as text.
    public var parameterText: String { rawValue.parameterText }
}

extension Int: ParameterValue {}
extension Int8: ParameterValue {}
extension Int16: ParameterValue {}
extension Int32: ParameterValue {}
extension Int64: ParameterValue {}
extension Int128: ParameterValue {}
extension UInt: ParameterValue {}
extension UInt8: ParameterValue {}
extension UInt16: ParameterValue {}
extension UInt32: ParameterValue {}
extension UInt64: ParameterValue {}
extension UInt128: ParameterValue {}
extension Float: ParameterValue {}
extension Double: ParameterValue {}

extension Decimal: ParameterValue {
    /// The number in decimal digits, with a dot whatever the locale is.
    public var parameterText: String { description }
}

extension UUID: ParameterValue {
    /// The identifier in upper case, with hyphens.
    public var parameterText: String { uuidString }
}

/// Several segments of a path, for `{/name*}` in a ``PathTemplate``.
///
/// Each is encoded as one segment; a segment that is empty, `.` or `..` is an error of the request.
public struct PathSegments: ParameterValue, Hashable {
    /// The segments, not encoded.
    public let segments: [String]

    /// Creates segments.
    ///
    /// - Parameter segments: The segments, not encoded.
    public init(_ segments: [String]) {
        self.segments = segments
    }

    /// Creates segments from the name of a file in a folder, as in `docs/readme.md`.
    ///
    /// - Parameter path: The segments with slashes between them, not encoded.
    public init(_ path: String) {
        segments = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    }

    /// The segments with slashes between them.
    public var parameterText: String { segments.joined(separator: "/") }

    /// The segments themselves.
    public var parameterSegments: [String]? { segments }
}

extension PathSegments: CustomStringConvertible, CustomReflectable {
    /// The number of segments, which may be secret.
    public var description: String { "\(segments.count) segments" }

    /// A mirror with only the description.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
