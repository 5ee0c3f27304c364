import Decorum

/// Finds the line and, in JSON, the path and the pattern of places in a text; callers ask for them from left to right.
struct TextPlaces {
    private struct Frame {
        let isObject: Bool
        /// The name of the member, as a path shows it and as a pattern has it; nil before it.
        var name: (shown: String, pattern: String)?
        var count = 0
    }

    private static let keyLimit = 60

    private let bytes: [UInt8]
    private var scanner: JSONScanner
    /// The ranges of secrets, which a path must not quote.
    private var hits: ArraySlice<Range<Int>>
    private var position = 0
    private var line = 1
    private var stack: [Frame] = []
    /// Whether the text is JSON, so far as it was read.
    private var isJSON: Bool

    init(_ bytes: [UInt8], hits: [Range<Int>]) {
        self.bytes = bytes
        scanner = JSONScanner(bytes)
        self.hits = hits.sorted { $0.lowerBound < $1.lowerBound }[...]
        isJSON = bytes.first { $0 > 0x20 }.map { "[{".utf8.contains($0) } ?? false
    }

    mutating func place(of index: Int) -> (path: String?, line: Int) {
        read(to: index)
        guard isJSON else { return (nil, line) }
        let path = stack.reduce("$") { path, frame in
            guard frame.isObject else { return path + "[\(frame.count)]" }
            guard let name = frame.name, !name.shown.isEmpty else { return path }
            return path + "." + name.shown
        }
        return (path, line)
    }

    /// The text of the `JSONPattern` that finds a place; nil in a text that is no JSON.
    ///
    /// A pattern looks through arrays, so it has no indices.
    mutating func pattern(of index: Int) -> String? {
        read(to: index)
        return isJSON ? stack.filter(\.isObject).map { $0.name?.pattern ?? "*" }.joined(separator: ".") : nil
    }

    private mutating func read(to index: Int) {
        while position < index, position < bytes.count {
            // From a token that breaks the grammar on, the text is not JSON; it may also have ended.
            var token: Range<Int>?
            if isJSON { token = try? scanner.token() }
            isJSON = token != nil
            let end = token?.upperBound ?? index
            line += bytes[position..<min(end, bytes.count)].count { $0 == 0x0A }
            position = end
            if let token { note(token) }
        }
    }

    private mutating func note(_ token: Range<Int>) {
        switch bytes[token.lowerBound] {
        case UInt8(ascii: "{"): stack.append(Frame(isObject: true))
        case UInt8(ascii: "["): stack.append(Frame(isObject: false))
        case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = stack.popLast()
        case UInt8(ascii: ","):
            guard let last = stack.indices.last else { return }
            stack[last].count += 1
            stack[last].name = nil
        case UInt8(ascii: "\""):
            // A string is the name of the next value, unless a name stands before it.
            guard let last = stack.indices.last, stack[last].isObject, stack[last].name == nil else { return }
            stack[last].name = name(token.lowerBound + 1..<token.upperBound - 1)
        default: break
        }
    }

    private mutating func name(_ content: Range<Int>) -> (shown: String, pattern: String) {
        hits = hits.drop { $0.upperBound <= content.lowerBound }
        if let hit = hits.first, hit.lowerBound < content.upperBound { return ("*", "*") }
        let shown = String(decoding: bytes[content].prefix(Self.keyLimit), as: UTF8.self)
        guard content.count <= Self.keyLimit else { return (shown, "*") }
        return (shown, JSONPattern.escaped(String(decoding: JSONText.unescape(bytes[content]), as: UTF8.self)))
    }
}

extension JSONPattern {
    /// A name of JSON as a pattern has it, with a backslash before each character that means something else there.
    static func escaped(_ name: String) -> String {
        // A dollar sign alone stands for the document.
        guard name != "$" else { return "\\$" }
        return name.reduce(into: "") { pattern, character in
            if character == "." || character == "*" || character == "\\" { pattern += "\\" }
            pattern.append(character)
        }
    }
}
