import Foundation

/// Finds the line and, in JSON, the path of places in a text; callers ask for them from left to right.
struct TextPlaces {
    private struct Frame {
        let isObject: Bool
        var key = ""
        var count = -1
    }

    private static let keyLimit = 60

    private let bytes: [UInt8]
    /// The ranges of secrets; a path must not quote them.
    private let hits: [Range<Int>]
    private var nextHit = 0
    private var position = 0
    private var line = 1
    private var stack: [Frame] = []
    private let isJSON: Bool

    init(_ bytes: [UInt8], hits: [Range<Int>]) {
        self.bytes = bytes
        self.hits = hits.sorted { $0.lowerBound < $1.lowerBound }
        isJSON = bytes.first { $0 > 0x20 }.map { "[{".utf8.contains($0) } ?? false
    }

    mutating func place(of index: Int) -> (path: String?, line: Int) {
        while position < index, position < bytes.count {
            if isJSON {
                scanToken()
            } else {
                if bytes[position] == 0x0A { line += 1 }
                position += 1
            }
        }
        return (isJSON ? path : nil, line)
    }

    private var path: String {
        stack.reduce("$") { path, frame in
            guard frame.isObject else { return path + "[\(max(frame.count, 0))]" }
            return frame.key.isEmpty ? path : path + "." + frame.key
        }
    }

    private mutating func scanToken() {
        switch bytes[position] {
        case 0x0A: line += 1
        case UInt8(ascii: "{"): stack.append(Frame(isObject: true))
        case UInt8(ascii: "["): stack.append(Frame(isObject: false, count: 0))
        case UInt8(ascii: "}"), UInt8(ascii: "]"): if !stack.isEmpty { stack.removeLast() }
        case UInt8(ascii: ","):
            if let last = stack.indices.last {
                stack[last].count += 1
                stack[last].key = ""
            }
        case UInt8(ascii: "\""):
            scanString()
            return
        default: break
        }
        position += 1
    }

    /// Scans a string; a name is remembered unless it holds a secret.
    private mutating func scanString() {
        let start = position + 1
        var end = start
        while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
            end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        end = min(end, bytes.count)
        position = min(end + 1, bytes.count)
        guard let last = stack.indices.last, stack[last].isObject, stack[last].key.isEmpty else { return }
        while nextHit < hits.count, hits[nextHit].upperBound <= start { nextHit += 1 }
        let holdsSecret = nextHit < hits.count && hits[nextHit].lowerBound < end
        stack[last].key = holdsSecret ? "*" : String(decoding: bytes[start..<end].prefix(Self.keyLimit), as: UTF8.self)
    }
}
