public import HTTPTypes

/// The value of a `Strict-Transport-Security` field, by which a host asks for https alone (RFC 6797, section 6.1).
public struct StrictTransportField: Sendable, Hashable {
    /// The time for which the host asks, in seconds; 0 ends an earlier wish.
    public let maximumAge: Int
    /// Whether all hosts below this one are meant too.
    public let includesSubdomains: Bool

    /// Creates a value.
    ///
    /// - Parameters:
    ///   - maximumAge: The time in seconds; a negative one counts as 0.
    ///   - includesSubdomains: Whether all hosts below this one are meant too.
    public init(maximumAge: Int, includesSubdomains: Bool = false) {
        self.maximumAge = max(0, maximumAge)
        self.includesSubdomains = includesSubdomains
    }

    /// Reads the first field of a response; nil where there is none, or where it has no valid `max-age`.
    ///
    /// - Parameter fields: The fields of the response.
    public init?(_ fields: HTTPFields) {
        // Of several fields, only the first counts (RFC 6797, section 8.1).
        guard let value = fields.firstValue(of: .strictTransportSecurity) else { return nil }
        self.init(value)
    }

    /// Parses a value.
    ///
    /// Names are compared without regard to case, and unknown directives are ignored. A value with a directive twice, or
    /// with an unclosed quotation, is invalid as a whole.
    ///
    /// - Parameter value: The value of the field.
    public init?(_ value: String) {
        guard value.utf8.count <= 4096, let directives = Self.directives(of: value) else { return nil }
        guard Set(directives.map(\.name)).count == directives.count else { return nil }
        guard let age = directives.first(where: { $0.name == "max-age" })?.value, !age.isEmpty,
            age.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        // More digits than a number has mean a very long time.
        self.init(
            maximumAge: Int(age) ?? .max,
            includesSubdomains: directives.contains { $0.name == "includesubdomains" })
    }

    /// The directives between semicolons that are not in quotes; nil where a quotation has no end.
    private static func directives(of value: String) -> [(name: String, value: String?)]? {
        var parts: [[UInt8]] = [[]]
        var isQuoted = false
        var isEscaped = false
        for byte in value.utf8 {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
                continue
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
                continue
            } else if byte == UInt8(ascii: ";"), !isQuoted {
                parts.append([])
                continue
            }
            parts[parts.count - 1].append(byte)
        }
        guard !isQuoted else { return nil }
        return parts.compactMap { part in
            let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let texts = halves.map { String(decoding: $0.trimmingBlanks, as: UTF8.self) }
            guard let name = texts.first, !name.isEmpty else { return nil }
            return (name.lowercased(), texts.count > 1 ? texts[1] : nil)
        }
    }
}

extension ArraySlice<UInt8> {
    /// The bytes without blanks and tabs at both ends.
    fileprivate var trimmingBlanks: ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
            return []
        }
        return self[first...last]
    }
}
