import Decorum

/// Finds the line and, in JSON, the path of places in a text; callers ask for them from left to right.
struct TextPlaces {
    private struct Frame {
        let isObject: Bool
        var key = ""
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
        while position < index, position < bytes.count {
            if isJSON { scanToken() } else { skip(to: position + 1) }
        }
        return (isJSON ? path : nil, line)
    }

    private var path: String {
        stack.reduce("$") { path, frame in
            guard frame.isObject else { return path + "[\(max(frame.count, 0))]" }
            return frame.key.isEmpty ? path : path + "." + frame.key
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
                stack[last].key = ""
            }
        case UInt8(ascii: "\""): addName(token.lowerBound + 1..<token.upperBound - 1)
        default: break
        }
    }

    /// Remembers a string as the name of the next value, where it may be one, unless it holds a secret.
    private mutating func addName(_ content: Range<Int>) {
        guard let last = stack.indices.last, stack[last].isObject, stack[last].key.isEmpty else { return }
        while nextHit < hits.count, hits[nextHit].upperBound <= content.lowerBound { nextHit += 1 }
        let holdsSecret = nextHit < hits.count && hits[nextHit].lowerBound < content.upperBound
        stack[last].key = holdsSecret ? "*" : String(decoding: bytes[content].prefix(Self.keyLimit), as: UTF8.self)
    }
}
