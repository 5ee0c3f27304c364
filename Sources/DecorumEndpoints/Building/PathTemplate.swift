public import Decorum
public import Foundation

/// The path of a group of requests, with names in braces in the place of the parts that vary (RFC 6570).
///
/// ```swift
/// let contents = Endpoint<Data>.get(
///     "repos/{owner}/{name}/contents{/path*}",
///     ["owner": "apple", "name": "swift", "path": PathSegments("docs/a b.md")])
/// // repos/apple/swift/contents/docs/a%20b.md
/// ```
///
/// | in the template | parameter | result |
/// |---|---|---|
/// | `{name}` | a value | one segment or a part of one, with all but the unreserved characters encoded |
/// | `{/name*}` | ``PathSegments`` | a slash and a segment for each |
///
/// A template is relative to the base URL of the API, whose path it never leaves: a slash at its start is an error, and so is a
/// segment that would be `.` or `..`, also after the server decodes it. It may have a query of its own, and it
/// may be an absolute URL whose scheme and host are written out.
///
/// It is a literal of the program and holds no secret, so it is the route name of the requests that are made of it.
public struct PathTemplate: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The template as it is written.
    public let text: String

    /// Creates a template, no part of which may come from untrusted text; it is checked when a request is made.
    public init(_ text: String) {
        self.text = text
    }

    /// Creates a template from a literal, which has no interpolation.
    public init(stringLiteral value: String) {
        text = value
    }

    func expanded(_ parameters: PathParameters = [:]) throws(InvalidRequestError) -> String {
        var expansion = PathExpansion(template: text, parameters: parameters)
        try expansion.run()
        return expansion.path
    }
}

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

    /// Creates parameters from a literal of names and values.
    public init(dictionaryLiteral elements: (String, any ParameterValue)...) {
        items.reserveCapacity(elements.count)
        for (name, value) in elements { append(name, value) }
    }

    /// Adds a value for a name in the template.
    public mutating func append(_ name: String, _ value: any ParameterValue) {
        items.append(Item(name: name, text: value.parameterText, segments: value.parameterSegments))
    }
}

extension PathParameters: SecretHolder {
    /// The names, without the values, which may be secret.
    public var description: String { items.map(\.name).joined(separator: ", ") }
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

    /// Creates segments, which are not encoded.
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

extension PathSegments: SecretHolder {
    /// The number of segments, which may be secret.
    public var description: String { "\(segments.count) segments" }
}

/// The expansion of one template, from its start to its end.
///
/// It works on bytes and in one pass, because each typed call makes one.
struct PathExpansion {
    private let template: String
    private let parameters: PathParameters
    private var bytes: [UInt8] = []
    private var usedCount = 0
    private var used: UInt64 = 0
    /// The place in the result where the current segment begins; nil in the query, which has no segments, and in front
    /// of the path of an absolute URL.
    private var segmentStart: Int? = 0
    private var isInQuery = false
    /// Whether the template is a URL with a scheme and a host.
    private(set) var isAbsolute = false
    /// The last parameter of the current segment, which its error names.
    private var lastName: ArraySlice<UInt8>?

    init(template: String, parameters: PathParameters) {
        self.template = template
        self.parameters = parameters
    }

    /// The path, once the expansion has run.
    var path: String { String(decoding: bytes, as: UTF8.self) }

    mutating func run() throws(InvalidRequestError) {
        try checkNames()
        // An array of bytes is read in a fraction of the time that a text needs.
        let source = Array(template.utf8)
        bytes.reserveCapacity(source.count + 32 * parameters.items.count)
        var index = try begin(source)
        // The bytes up to a brace or the end of a segment are appended at once.
        var start = index
        while index < source.count {
            switch source[index] {
            case UInt8(ascii: "{"):
                bytes += source[start..<index]
                guard let end = source[index...].firstIndex(of: UInt8(ascii: "}")) else {
                    throw .template(template, "has “{” without “}”")
                }
                try expand(source[(index + 1)..<end])
                index = end
                start = end + 1
            case UInt8(ascii: "/") where !isInQuery:
                bytes += source[start..<index]
                start = index
                try endSegment()
                beginSegment(at: bytes.count + 1)
            case UInt8(ascii: "?") where !isInQuery:
                bytes += source[start..<index]
                start = index
                try endSegment()
                isInQuery = true
                segmentStart = nil
            case 0x21, 0x24...0x3B, 0x3D, 0x3F...0x5A, 0x5F, 0x61...0x7A, 0x7E: break
            default: throw .template(template, "has a character that no path has")
            }
            index += 1
        }
        bytes += source[start...]
        if !isInQuery { try endSegment() }
        guard usedCount == parameters.items.count else { throw unusedParameter }
        keepColonOutOfScheme()
    }

    /// Appends the scheme and the host of an absolute URL, and returns the place where the path begins.
    private mutating func begin(_ source: [UInt8]) throws(InvalidRequestError) -> Int {
        switch source.first {
        case UInt8(ascii: "/"):
            // A reference with a slash at its start would replace the path of the base, as it does in a plain request.
            throw .template(template, "begins with a slash; leave it out, since the path is below the base URL")
        case UInt8(ascii: "h") where source.starts(with: "https://".utf8) || source.starts(with: "http://".utf8):
            let hostStart = source[4] == UInt8(ascii: "s") ? 8 : 7
            let end = source[hostStart...].firstIndex(of: UInt8(ascii: "/")) ?? source.endIndex
            bytes += source[..<end]
            guard !bytes.contains(UInt8(ascii: "{")) else { throw .template(template, "has a parameter in its host") }
            segmentStart = nil
            isAbsolute = true
            return end
        default: return 0
        }
    }

    private mutating func beginSegment(at place: Int) {
        segmentStart = place
        lastName = nil
    }

    private mutating func expand(_ expression: ArraySlice<UInt8>) throws(InvalidRequestError) {
        if expression.first == UInt8(ascii: "/"), expression.last == UInt8(ascii: "*") {
            let name = expression.dropFirst().dropLast()
            try expandSegments(name)
            return
        }
        let text = try item(expression).text
        guard isInQuery else { return try append(text, of: expression) }
        PercentBytes.append(text, to: &bytes)
    }

    /// Appends a text within a segment.
    private mutating func append(_ text: String, of name: ArraySlice<UInt8>) throws(InvalidRequestError) {
        let start = bytes.count
        PercentBytes.append(text, to: &bytes)
        guard start < bytes.count else { throw .parameter(name, of: template, "is empty") }
        if bytes[start...].contains(UInt8(ascii: ".")), Self.climbs(text) {
            throw .parameter(name, of: template, "has the segment “.” or “..”")
        }
        lastName = name
    }

    private mutating func expandSegments(_ name: ArraySlice<UInt8>) throws(InvalidRequestError) {
        guard let segments = try item(name).segments else {
            throw .parameter(name, of: template, "needs `PathSegments`")
        }
        guard !isInQuery, !segments.isEmpty else {
            throw .parameter(name, of: template, isInQuery ? "has segments in the query" : "has no segments")
        }
        for segment in segments {
            try endSegment()
            // With a slash at its start, the path would replace that of the base.
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "/")) }
            beginSegment(at: bytes.count)
            try append(segment, of: name)
        }
    }

    /// Whether a text leads to another path once a server has decoded it: some servers decode `%2F` before they look for `..`,
    /// and some take a backslash for a slash.
    private static func climbs(_ text: String) -> Bool {
        // A value that is a dot alone is harmless within a longer segment, which is checked where it ends.
        guard text != ".", text != ".." else { return false }
        return text.utf8.split(whereSeparator: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") })
            .contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
    }

    /// Whether a segment has a part `.` or `..` between slashes or backslashes that are encoded in it, as two values can make
    /// one together.
    private static func hidesDots(_ segment: ArraySlice<UInt8>) -> Bool {
        guard segment.contains(UInt8(ascii: ".")), segment.contains(UInt8(ascii: "%")) else { return false }
        let text = String(decoding: segment, as: UTF8.self).uppercased()
        let parts = text.replacing("%2F", with: "/").replacing("%5C", with: "/").split(separator: "/")
        return text.contains("%2F") || text.contains("%5C") ? parts.contains { $0 == "." || $0 == ".." } : false
    }

    private func endSegment() throws(InvalidRequestError) {
        guard let segmentStart else { return }
        let segment = bytes[segmentStart...]
        let isDots = (1...2).contains(segment.count) && segment.allSatisfy { $0 == UInt8(ascii: ".") }
        guard isDots || Self.hidesDots(segment) else { return }
        guard let lastName else { throw .template(template, "has the segment “.” or “..”") }
        throw .parameter(lastName, of: template, "makes the segment “.” or “..”, which leads to another path")
    }
}

extension PathExpansion {
    private func checkNames() throws(InvalidRequestError) {
        let items = parameters.items
        guard items.count > 1 else { return }
        guard items.count <= UInt64.bitWidth else { throw .template(template, "has more than 64 parameters") }
        for index in items.indices.dropFirst() {
            for other in 0..<index where items[other].name == items[index].name {
                throw .parameter(Array(items[other].name.utf8)[...], of: template, "is given twice")
            }
        }
    }

    private mutating func item(_ name: ArraySlice<UInt8>) throws(InvalidRequestError) -> PathParameters.Item {
        let items = parameters.items
        // Names are short, and short texts are compared as numbers.
        let text = String(decoding: name, as: UTF8.self)
        for index in items.indices where items[index].name == text {
            if used & (1 << UInt64(index)) == 0 { usedCount += 1 }
            used |= 1 << UInt64(index)
            return items[index]
        }
        throw .parameter(name, of: template, "has no value")
    }

    private var unusedParameter: InvalidRequestError {
        let index = parameters.items.indices.first { used & (1 << UInt64($0)) == 0 } ?? 0
        return .parameter(Array(parameters.items[index].name.utf8)[...], of: template, "does not occur in it")
    }

    /// Writes `./` before a first segment that has a colon, which would otherwise end a scheme (RFC 3986, section 4.2).
    private mutating func keepColonOutOfScheme() {
        guard !isAbsolute else { return }
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: "?"): return
            case UInt8(ascii: ":"): return bytes.insert(contentsOf: "./".utf8, at: 0)
            default: continue
            }
        }
    }
}

extension InvalidRequestError.Reason {
    /// A parameter of a path, a query or a form is missing, unused, given twice, or cannot be sent.
    public static let invalidParameter = Self("invalidParameter")
}

extension InvalidRequestError {
    fileprivate static func template(_ template: String, _ event: String) -> Self {
        Self(.invalidPath, "The path template “\(template)” \(event).")
    }

    fileprivate static func parameter(_ name: ArraySlice<UInt8>, of template: String, _ event: String) -> Self {
        let name = String(decoding: name, as: UTF8.self)
        return Self(.invalidParameter, "The parameter “\(name)” of the path template “\(template)” \(event).")
    }
}

/// Percent-encoding that appends to bytes that are being built, so that a typed call makes one text and no others.
enum PercentBytes {
    /// Appends a text with all but its unreserved characters encoded (RFC 3986, section 2.3).
    static func append(_ text: String, to bytes: inout [UInt8]) {
        var text = text
        // The pointer is that of the closure, which does not keep it.
        text.withUTF8 { text in
            // Most values need no escape, and are appended at once.
            guard unsafe text.allSatisfy(isUnreserved) else {
                for index in text.indices {
                    let byte = unsafe text[index]
                    if isUnreserved(byte) { bytes.append(byte) } else { appendEscape(byte, to: &bytes) }
                }
                return
            }
            unsafe bytes.append(contentsOf: text)
        }
    }

    /// Appends a text as forms encode it (URL Standard, section 5.2).
    @inline(__always) static func appendForm(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: " "): bytes.append(UInt8(ascii: "+"))
            case UInt8(ascii: "*"): bytes.append(byte)
            case UInt8(ascii: "~"): appendEscape(byte, to: &bytes)
            default: if isUnreserved(byte) { bytes.append(byte) } else { appendEscape(byte, to: &bytes) }
            }
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }

    private static func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(digit(byte >> 4))
        bytes.append(digit(byte & 15))
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
