import HTTPTypes

/// The members of an object that together are a name and its value, as HTTP archives and many APIs write fields.
struct JSONPair {
    /// The part of a member in a pair.
    enum Role {
        case name
        case value

        private static let names = ["name", "key", "field", "header"].map { Array($0.utf8) }
        private static let values = ["value", "val"].map { Array($0.utf8) }

        /// The part of a member with a name; nil for all other members.
        init?(of name: ArraySlice<UInt8>) {
            // Most names have another length or start.
            guard (3...6).contains(name.count), let first = name.first, "nkfhv".utf8.contains(first | 0x20) else {
                return nil
            }
            func isAny(of names: [[UInt8]]) -> Bool {
                names.contains { $0.count == name.count && zip($0, name).allSatisfy { $0 == $1 | 0x20 } }
            }
            if isAny(of: Self.values) {
                self = .value
            } else if isAny(of: Self.names) {
                self = .name
            } else {
                return nil
            }
        }
    }

    private var name: Range<Int>?
    private var value: Range<Int>?

    mutating func add(_ range: Range<Int>, as role: Role) {
        switch role {
        case .name: name = name ?? range
        case .value: value = value ?? range
        }
    }

    /// The bytes of the name, without quotation marks, and of the whole value; nil if one is missing.
    var values: (name: Range<Int>, value: Range<Int>)? {
        guard let name, let value, name.count > 2 else { return nil }
        return (name.lowerBound + 1..<name.upperBound - 1, value)
    }

    /// The content of a string between its quotation marks; a scalar as it is.
    static func content(of value: Range<Int>, in bytes: [UInt8]) -> Range<Int> {
        guard value.count >= 2, bytes[value.lowerBound] == UInt8(ascii: "\"") else { return value }
        return value.lowerBound + 1..<value.upperBound - 1
    }
}

extension Redaction {
    /// The values that are secret in a pair with this name: by the names of JSON, or by those of fields.
    func secrecy(ofPairNamed name: [UInt8]) -> SecretNames.Secrecy? {
        if let secrecy = jsonMatcher.deepNames.secrecy(of: name) { return secrecy }
        guard let field = HTTPField.Name(String(decoding: name, as: UTF8.self)) else { return nil }
        return fields.contains(field) ? .any : fieldNames.secrecy(of: field.canonicalName.utf8)
    }
}
