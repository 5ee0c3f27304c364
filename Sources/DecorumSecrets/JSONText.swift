/// The strings of JSON as bytes (RFC 8259, section 7).
package enum JSONText: Sendable {
    /// Whether bytes start like an object or an array: the first byte that is not blank is `{` or `[`.
    package static func isLikely(_ bytes: some Sequence<UInt8>) -> Bool {
        guard let first = bytes.first(where: { $0 > 0x20 }) else { return false }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Resolves the escapes of the bytes between the quotation marks of a string; a lone surrogate becomes U+FFFD.
    package static func unescape(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard bytes.contains(UInt8(ascii: "\\")) else { return Array(bytes) }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            guard bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.endIndex else {
                output.append(bytes[index])
                index += 1
                continue
            }
            let escape = bytes[index + 1]
            index += 2
            switch escape {
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "u"):
                var unit = codeUnit(bytes, at: index)
                index += 4
                if let high = unit, high & 0xFC00 == 0xD800, bytes[index...].starts(with: "\\u".utf8),
                    let low = codeUnit(bytes, at: index + 2), low & 0xFC00 == 0xDC00
                {
                    unit = 0x10000 + (high & 0x3FF) << 10 + (low & 0x3FF)
                    index += 6
                }
                output += String(unit.flatMap(Unicode.Scalar.init) ?? "\u{FFFD}").utf8
            default: output.append(escape)
            }
        }
        return output
    }

    /// The text of the bytes between the quotation marks of a string; nil when they are not UTF-8.
    static func text(of bytes: ArraySlice<UInt8>) -> String? {
        // Most strings are ASCII without escapes, which needs no validation; this check is much faster than one.
        guard bytes.contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: "\\") }) else {
            return String(decoding: bytes, as: UTF8.self)
        }
        return bytes.contains(UInt8(ascii: "\\"))
            ? String(validating: unescape(bytes), as: UTF8.self) : String(validating: bytes, as: UTF8.self)
    }

    /// Whether an escape of a string is a surrogate without its other half, for which ``unescape(_:)`` returns U+FFFD.
    package static func hasLoneSurrogate(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while let start = rest.firstIndex(of: UInt8(ascii: "\\")) {
            rest = rest[(start + 1)...]
            guard rest.popFirst() == UInt8(ascii: "u"), let unit = codeUnit(rest, at: rest.startIndex) else { continue }
            rest = rest.dropFirst(4)
            guard unit & 0xF800 == 0xD800 else { continue }
            guard unit & 0xFC00 == 0xD800, rest.starts(with: "\\u".utf8),
                let low = codeUnit(rest, at: rest.startIndex + 2), low & 0xFC00 == 0xDC00
            else { return true }
            rest = rest.dropFirst(6)
        }
        return false
    }

    /// Escapes quotation marks, backslashes and control characters, so that bytes can stand between quotation marks.
    package static func escape(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): output += [UInt8(ascii: "\\"), byte]
            case 0x08: output += "\\b".utf8
            case 0x09: output += "\\t".utf8
            case 0x0A: output += "\\n".utf8
            case 0x0C: output += "\\f".utf8
            case 0x0D: output += "\\r".utf8
            case 0..<0x20: output += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: output.append(byte)
            }
        }
        return output
    }

    private static func codeUnit(_ bytes: ArraySlice<UInt8>, at index: Int) -> UInt32? {
        guard index + 4 <= bytes.endIndex else { return nil }
        return bytes[index..<index + 4].reduce(0 as UInt32?) { unit, byte in
            guard let unit, let digit = PercentEscapes.hexDigit(byte) else { return nil }
            return unit << 4 | UInt32(digit)
        }
    }

    /// Whether a string may hold a URL or JSON, by the characters of which each of them has one.
    static func mayHoldURLOrJSON(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.contains {
            switch $0 {
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "/"),
                UInt8(ascii: "\\"):
                true
            default: false
            }
        }
    }

    /// A text as a JSON string, with the shortest escapes and only the necessary ones.
    package static func quoted(_ text: String) -> [UInt8] {
        var output: [UInt8] = [UInt8(ascii: "\"")]
        if text.allUTF8({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            output += text.utf8
        } else {
            output += escape(text.utf8)
        }
        output.append(UInt8(ascii: "\""))
        return output
    }
}
