/// The blanks that a JSON document has between its tokens.
///
/// Nearly every server writes one of these layouts, so the tokens and the layout's name are enough to restore each
/// byte.
enum JSONLayout: String, CaseIterable, Sendable {
    case compact
    case spaced
    case pretty2
    case pretty4
    case spacedMembers = ", :"
    case spacedValues = ",: "

    /// The document in this layout.
    func written(_ tokens: JSONTokens) -> [UInt8] {
        guard self != .compact else { return tokens.joined() }
        var output: [UInt8] = []
        var depth = 0
        var isEmpty = false
        for token in tokens {
            switch token.first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if isEmpty { breakLine(depth, &output) }
                output += token
                depth += 1
                isEmpty = true
                continue
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if !isEmpty { breakLine(depth, &output) }
                output += token
            case UInt8(ascii: ","):
                output += comma
                if indentation != nil { breakLine(depth, &output) }
            case UInt8(ascii: ":"): output += colon
            default:
                if isEmpty { breakLine(depth, &output) }
                output += token
            }
            isEmpty = false
        }
        return output
    }

    /// The layout that restores exactly these bytes; nil if there is none.
    static func exact(for bytes: [UInt8], in range: Range<Int>) -> JSONLayout? {
        let tokens = JSONTokens(bytes, in: range)
        return allCases.first { $0.written(tokens).elementsEqual(bytes[range]) }
    }

    private func breakLine(_ depth: Int, _ output: inout [UInt8]) {
        guard let indentation else { return }
        output.append(0x0A)
        output.append(contentsOf: repeatElement(0x20, count: depth * indentation))
    }

    private var indentation: Int? {
        switch self {
        case .pretty2: 2
        case .pretty4: 4
        case .compact, .spaced, .spacedMembers, .spacedValues: nil
        }
    }

    private var comma: [UInt8] {
        switch self {
        case .spaced, .spacedMembers: Array(", ".utf8)
        case .compact, .pretty2, .pretty4, .spacedValues: Array(",".utf8)
        }
    }

    private var colon: [UInt8] {
        switch self {
        case .spaced, .pretty2, .pretty4, .spacedValues: Array(": ".utf8)
        case .compact, .spacedMembers: Array(":".utf8)
        }
    }
}
