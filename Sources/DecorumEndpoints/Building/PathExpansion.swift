public import Decorum

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
