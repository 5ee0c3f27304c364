/// A value of a field with parameters, such as `attachment; filename="a.pdf"` (RFC 9110, section 5.6.6).
struct ParameterizedValue: Equatable {
    /// The text before the first semicolon, in lower case.
    let value: String
    /// The names in lower case, and the values without their quotation marks, up to the first that is malformed.
    private(set) var parameters: [(name: String, value: String)] = []

    init(_ text: String) {
        var rest = text[...].utf8
        value = Self.trimmed(Self.take(&rest) { $0 != UInt8(ascii: ";") }).lowercased()
        while rest.popFirst() != nil {
            Self.skipBlanks(&rest)
            // A semicolon at the end of the value has nothing behind it.
            guard let first = rest.first else { return }
            if first == UInt8(ascii: ";") { continue }
            let name = Self.trimmed(Self.take(&rest) { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") })
            guard !name.isEmpty, rest.popFirst() == UInt8(ascii: "=") else { return }
            Self.skipBlanks(&rest)
            guard let value = Self.takeValue(&rest) else { return }
            parameters.append((name.lowercased(), value))
            Self.skipBlanks(&rest)
            guard rest.first == nil || rest.first == UInt8(ascii: ";") else { return }
        }
    }

    /// The first parameter with a name, which is in lower case.
    subscript(name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.value == rhs.value && lhs.parameters.elementsEqual(rhs.parameters, by: ==)
    }

    /// A token, or a string between quotation marks, in which a backslash stands before a character; nil if it has no end.
    private static func takeValue(_ rest: inout Substring.UTF8View) -> String? {
        guard rest.first == UInt8(ascii: "\"") else { return trimmed(take(&rest) { $0 != UInt8(ascii: ";") }) }
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard let escaped = rest.popFirst() else { return nil }
            bytes.append(escaped)
        }
        return nil
    }

    private static func take(
        _ rest: inout Substring.UTF8View, while isPart: (UInt8) -> Bool
    ) -> Substring.UTF8View {
        let end = rest.firstIndex { !isPart($0) } ?? rest.endIndex
        defer { rest = rest[end...] }
        return rest[..<end]
    }

    private static func skipBlanks(_ rest: inout Substring.UTF8View) {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
    }

    private static func trimmed(_ bytes: Substring.UTF8View) -> String {
        var bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return String(Substring(bytes))
    }
}
