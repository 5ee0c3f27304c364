/// Reads the part of YAML 1.1 that recorders write: blocks, brackets, scalars of all styles, and aliases.
///
/// Merge keys, directives and further documents are refused, each with its line. Scalars stay text, and tags are labels:
/// nothing is resolved, and nothing is ever created from a tag.
struct YAMLReader: Sendable {
    /// The deepest nesting that is read; real cassettes have up to 14.
    static let depthLimit = 128
    /// The largest number of bytes that aliases repeat: the length of the largest file.
    static let repeatedLengthLimit = ImportLimits.standard.fileLength

    var cursor: YAMLCursor
    let countLimit: Int
    var depth = 0
    /// The number of values so far, including those that aliases repeat.
    var count = 0
    /// The bytes that aliases have repeated so far.
    var repeatedLength = 0
    /// The greatest depth since the innermost anchor that is still being read.
    var deepest = 0
    var anchors: [String: YAMLAnchor] = [:]

    /// Reads a whole document.
    ///
    /// - Throws: `YAMLSyntaxError`, with the line.
    static func value(
        of bytes: [UInt8], countLimit: Int = ImportLimits.standard.valueCount
    ) throws(YAMLSyntaxError) -> (StoredValue, count: Int) {
        if let line = invalidLine(in: bytes) { throw YAMLSyntaxError(reason: "it is not UTF-8", line: line) }
        var reader = YAMLReader(cursor: YAMLCursor(bytes), countLimit: countLimit)
        return (try reader.document(), reader.count)
    }

    private static func invalidLine(in bytes: [UInt8]) -> Int? {
        guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        return (lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0) + 1
    }

    private mutating func document() throws(YAMLSyntaxError) -> StoredValue {
        try skipToContent()
        guard !cursor.isAtEnd else { throw cursor.fault("it is empty") }
        if cursor.column == 0, cursor.byte() == UInt8(ascii: "%") { throw cursor.fault("directives are not read") }
        if cursor.isAtMarker("-") { cursor.advance(3) }
        let value = try node(parent: -1, mayStartBlock: true)
        if cursor.isAtMarker(".") {
            cursor.advance(3)
            try endLine()
        }
        guard cursor.isAtEnd else {
            throw cursor.fault(
                cursor.isAtMarker("-") ? "more than one document is not read" : "there is text that belongs to nothing")
        }
        return value
    }

    /// Reads what follows a key, a dash, or the start of the document, up to the next content behind it.
    ///
    /// `parent` is the column of the mapping or list that holds the value, or -1. A mapping or a list may begin on this
    /// line if `mayStartBlock`, and a list may stand at the column of the parent itself if `mayAlign`, as behind a key.
    private mutating func node(
        parent: Int, mayStartBlock: Bool, mayAlign: Bool = false
    ) throws(YAMLSyntaxError) -> StoredValue {
        try enter()
        defer { depth -= 1 }

        var mayStartBlock = mayStartBlock
        var properties = YAMLProperties()
        let line = cursor.line
        cursor.skipBlanks()
        while true {
            if cursor.isAtEnd || cursor.isAtBreak || cursor.byte() == UInt8(ascii: "#") {
                try skipToContent()
                let isAligned = mayAlign && cursor.column == parent && isAtDash
                guard !cursor.isAtEnd, !cursor.isAtMarker(), cursor.column > parent || isAligned else {
                    return close(properties, around: properties.nothing(line: line))
                }
                mayStartBlock = true
            }
            guard isAtProperty, !mayStartBlock || !isAtKey, try readProperty(into: &properties) else { break }
            mayStartBlock = false
            cursor.skipBlanks()
        }
        var value = try content(parent: parent, mayStartBlock: mayStartBlock, tag: properties.tag)
        if properties.tag != nil { (value.tag, value.line) = (properties.tag, line) }
        return close(properties, around: value)
    }

    private mutating func content(
        parent: Int, mayStartBlock: Bool, tag: String?
    ) throws(YAMLSyntaxError) -> StoredValue {
        let line = cursor.line
        let column = cursor.column
        if isAtDash {
            guard mayStartBlock else { throw cursor.fault("a list cannot begin here") }
            return StoredValue(content: .list(try list(at: column)), line: line)
        }
        if mayStartBlock, isAtKey { return StoredValue(content: .map(try mapping(at: column)), line: line) }
        switch cursor.byte() {
        case UInt8(ascii: "|"), UInt8(ascii: ">"):
            let text = try cursor.blockScalar(parent: parent)
            try skipToContent()
            return StoredValue(content: .string(text), line: line)
        case UInt8(ascii: "*"):
            let value = try alias()
            try endLine()
            return value
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "["), UInt8(ascii: "{"):
            let value = try flow()
            try endLine()
            return value
        default:
            try refuseUnread()
            let text = cursor.plainScalar(indentation: parent + 1)
            try endLine()
            return StoredValue(content: Self.literal(text, tag: tag), line: line)
        }
    }

    mutating func enter() throws(YAMLSyntaxError) {
        depth += 1
        count += 1
        deepest = max(deepest, depth)
        guard depth <= Self.depthLimit else { throw cursor.fault("it is nested too deeply") }
        guard count <= countLimit else { throw cursor.fault("it has too many values") }
    }

    /// A plain scalar; its text makes it null only if it has no tag.
    static func literal(_ text: String, tag: String?) -> StoredValue.Content {
        switch text {
        case "", "~", "null", "Null", "NULL": tag == nil ? .null : .literal(text)
        default: .literal(text)
        }
    }

    /// Reads the list whose dashes stand at a column.
    private mutating func list(at column: Int) throws(YAMLSyntaxError) -> [StoredValue] {
        var elements: [StoredValue] = []
        while !cursor.isAtEnd, cursor.column == column, isAtDash {
            cursor.advance()
            elements.append(try node(parent: column, mayStartBlock: true))
        }
        guard cursor.isAtEnd || cursor.column <= column else { throw cursor.fault("the indentation is wrong") }
        return elements
    }

    /// Reads the mapping whose keys stand at a column.
    private mutating func mapping(at column: Int) throws(YAMLSyntaxError) -> [StoredValue.Member] {
        var members: [StoredValue.Member] = []
        while !cursor.isAtEnd, cursor.column == column, !cursor.isAtMarker(), !isAtDash {
            guard isAtKey else {
                try refuseUnread()
                throw cursor.fault("a key is expected")
            }
            if isAtExplicitKey {
                members.append(try explicitMember(at: column))
                continue
            }
            let name = try key()
            members.append(
                StoredValue.Member(name: name, value: try node(parent: column, mayStartBlock: false, mayAlign: true)))
        }
        guard cursor.isAtEnd || cursor.column <= column else { throw cursor.fault("the indentation is wrong") }
        return members
    }

    /// Reads a key behind a question mark, as writers set long ones, and the value behind the colon on a separate line.
    private mutating func explicitMember(at column: Int) throws(YAMLSyntaxError) -> StoredValue.Member {
        let start = cursor
        cursor.advance()
        let name = try Self.name(of: try node(parent: column, mayStartBlock: false), at: start)
        guard !cursor.isAtEnd, cursor.column == column, cursor.byte() == UInt8(ascii: ":"), cursor.isSeparator(1) else {
            return StoredValue.Member(name: name, value: StoredValue(content: .null, line: start.line))
        }
        cursor.advance()
        return StoredValue.Member(
            name: name, value: try node(parent: column, mayStartBlock: true, mayAlign: true))
    }

    /// Reads a key and its colon.
    private mutating func key() throws(YAMLSyntaxError) -> String {
        let start = cursor
        var properties = YAMLProperties()
        while try readProperty(into: &properties) { cursor.skipBlanks() }
        var value: StoredValue
        switch cursor.byte() {
        case UInt8(ascii: "*"): value = try alias()
        case UInt8(ascii: "\""), UInt8(ascii: "'"): value = StoredValue(content: .string(try cursor.quotedScalar()))
        default: value = StoredValue(content: .literal(cursor.plainScalar(indentation: Int.max)))
        }
        value = close(properties, around: value)
        cursor.skipBlanks()
        guard cursor.byte() == UInt8(ascii: ":") else { throw cursor.fault("a colon is expected") }
        cursor.advance()
        return try Self.name(of: value, at: start)
    }

    /// The text of a key.
    static func name(of value: StoredValue, at start: YAMLCursor) throws(YAMLSyntaxError) -> String {
        switch value.content {
        case .literal("<<"): throw start.fault("merge keys are not read")
        case .string(let text), .literal(let text), .number(let text): return text
        case .null: return ""
        case .list, .map: throw start.fault("a key is expected")
        }
    }
}
