import Decorum

/// Finds the line and, in JSON, the path and the pattern of places in a text; callers ask for them from left to right.
struct TextPlaces {
    private struct Frame {
        let isObject: Bool
        /// The name of the member, as it is shown; nil before it.
        var key: String?
        /// The bytes of this name; nil if a pattern must not quote it, or it is long.
        var name: Range<Int>?
        var count = -1
    }

    private static let keyLimit = 60

    private let bytes: [UInt8]
    private var scanner: JSONScanner
    /// The ranges of secrets; a path must not quote them.
    private let hits: [Range<Int>]
    private var nextHit = 0
    private var position = 0
    private var line = 1
    private var stack: [Frame] = []
    /// Whether the text is JSON, so far as it was read.
    private var isJSON: Bool

    init(_ bytes: [UInt8], hits: [Range<Int>]) {
        self.bytes = bytes
        scanner = JSONScanner(bytes)
        self.hits = hits.sorted { $0.lowerBound < $1.lowerBound }
        isJSON = bytes.first { $0 > 0x20 }.map { "[{".utf8.contains($0) } ?? false
    }

    mutating func place(of index: Int) -> (path: String?, line: Int) {
        read(to: index)
        return (isJSON ? path : nil, line)
    }

    /// The text of the `JSONPattern` that finds a place; nil in a text that is no JSON.
    ///
    /// A pattern looks through arrays, so it has no indices.
    mutating func pattern(of index: Int) -> String? {
        read(to: index)
        return isJSON ? stack.filter(\.isObject).map { step(of: $0) }.joined(separator: ".") : nil
    }

    private func step(of frame: Frame) -> String {
        guard let name = frame.name else { return "*" }
        return JSONPattern.escaped(String(decoding: JSONText.unescape(bytes[name]), as: UTF8.self))
    }

    private mutating func read(to index: Int) {
        while position < index, position < bytes.count {
            if isJSON { scanToken() } else { skip(to: position + 1) }
        }
    }

    private var path: String {
        stack.reduce("$") { path, frame in
            guard frame.isObject else { return path + "[\(max(frame.count, 0))]" }
            guard let key = frame.key, !key.isEmpty else { return path }
            return path + "." + key
        }
    }

    /// Moves to a later position, and counts the lines up to it.
    private mutating func skip(to end: Int) {
        line += bytes[position..<end].count { $0 == 0x0A }
        position = end
    }

    private mutating func scanToken() {
        guard let token = try? scanner.token() else {
            // From here on, the text is not JSON, or it has ended.
            isJSON = false
            return
        }
        skip(to: token.upperBound)
        switch bytes[token.lowerBound] {
        case UInt8(ascii: "{"): stack.append(Frame(isObject: true))
        case UInt8(ascii: "["): stack.append(Frame(isObject: false, count: 0))
        case UInt8(ascii: "}"), UInt8(ascii: "]"): if !stack.isEmpty { stack.removeLast() }
        case UInt8(ascii: ","):
            if let last = stack.indices.last {
                stack[last].count += 1
                stack[last].key = nil
            }
        case UInt8(ascii: "\""): addName(token.lowerBound + 1..<token.upperBound - 1)
        default: break
        }
    }

    /// Remembers a string as the name of the next value, where it may be one, unless it holds a secret.
    private mutating func addName(_ content: Range<Int>) {
        guard let last = stack.indices.last, stack[last].isObject, stack[last].key == nil else { return }
        while nextHit < hits.count, hits[nextHit].upperBound <= content.lowerBound { nextHit += 1 }
        let holdsSecret = nextHit < hits.count && hits[nextHit].lowerBound < content.upperBound
        stack[last].key = holdsSecret ? "*" : String(decoding: bytes[content].prefix(Self.keyLimit), as: UTF8.self)
        stack[last].name = holdsSecret || content.count > Self.keyLimit ? nil : content
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
