/// Finds the values of secret names in lines such as `DB_PASSWORD=…`, `token: …` and `api_key = "…"`.
///
/// Prose has colons too. So behind a colon within a line, or of several words, a value without quotes is secret only if
/// it has a digit; a line of YAML or of a settings file has its name at its start, and one value behind it.
struct Assignments {
    private static let nameLimit = 48
    private static let valueLimit = 4096

    private let bytes: [UInt8]
    private let names: SecretNames
    private var found: [SecretSearch.Found] = []

    /// The secrets in a text.
    static func all(in bytes: [UInt8], names: SecretNames, steps: inout Int) -> [SecretSearch.Found] {
        guard !names.isEmpty else { return [] }
        var search = Assignments(bytes: bytes, names: names)
        steps += bytes.count
        var index = 0
        while let separator = bytes[index...].firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") })
        {
            index = max(separator + 1, search.add(at: separator, steps: &steps) ?? 0)
        }
        return search.found
    }

    /// Whether a text has a `=` behind letters with which a secret name ends: most have none.
    static func mayHoldSecret(_ text: String, names: SecretNames) -> Bool {
        var last = (0 as UInt8, 0 as UInt8)
        return !text.allUTF8 { byte in
            if byte == UInt8(ascii: "="), names.mayEnd(in: last.0, last.1) { return false }
            last = (last.1, byte)
            return true
        }
    }

    private init(bytes: [UInt8], names: SecretNames) {
        self.bytes = bytes
        self.names = names
    }

    /// Adds the value behind a separator and returns its end; nil if it is no secret.
    private mutating func add(at separator: Int, steps: inout Int) -> Int? {
        guard let name = name(before: separator), let secrecy = names.secrecy(of: bytes[name]),
            let value = value(behind: separator, startsLine: startsLine(name.lowerBound)), !isReference(value)
        else { return nil }
        steps += value.upperBound - name.lowerBound
        if secrecy == .text, bytes[value].allSatisfy(\.isDecimalDigit), value.count <= 15 { return nil }
        found.append(SecretSearch.Found(range: value, name: name))
        return value.upperBound
    }

    private func name(before separator: Int) -> Range<Int>? {
        var end = separator
        while end > 0, separator - end < 4, " \t\"'".utf8.contains(bytes[end - 1]) { end -= 1 }
        var start = end
        while start > 0, end - start < Self.nameLimit, TokenSearch.isWord(bytes[start - 1]) { start -= 1 }
        return end - start > 2 ? start..<end : nil
    }

    /// Whether only blanks, a list mark or `export` stand before a name in its line.
    private func startsLine(_ name: Int) -> Bool {
        var start = name
        while start > 0, name - start < 40, bytes[start - 1] != 0x0A { start -= 1 }
        let before = String(decoding: bytes[start..<name], as: UTF8.self)
        return before.allSatisfy { " \t\r-\"'#".contains($0) } || before.hasSuffix("export ")
            || before.hasSuffix("set ")
    }

    private func value(behind separator: Int, startsLine: Bool) -> Range<Int>? {
        var start = separator + 1
        while start < bytes.count, start - separator < 6, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
        guard start < bytes.count else { return nil }
        if "\"'`".utf8.contains(bytes[start]) {
            let rest = bytes[(start + 1)...].prefix(Self.valueLimit)
            guard let end = rest.firstIndex(where: { $0 == bytes[start] || $0 == 0x0A }), bytes[end] == bytes[start],
                end > start + 1
            else { return nil }
            return start + 1..<end
        }
        let isEquals = bytes[separator] == UInt8(ascii: "=")
        // A comparison, and an address.
        if "=>/:".utf8.contains(bytes[start]) || isEquals && separator > 0 && "!<>=".utf8.contains(bytes[separator - 1])
        {
            return nil
        }
        // A query has its own grammar, and code has blanks around its operators.
        let ends = isEquals ? "&;,)]}\"'<>|" : ",;)]}\"'<>|"
        let value = bytes[start...].prefix(Self.valueLimit).prefix { $0 > 0x20 && !ends.utf8.contains($0) }
        guard !value.isEmpty else { return nil }
        if isEquals, start == separator + 1 { return value.startIndex..<value.endIndex }
        let rest = bytes[value.endIndex...].prefix { $0 != 0x0A && $0 != 0x0D }.drop { $0 == 0x20 || $0 == 0x09 }
        let isAlone = startsLine && (rest.isEmpty || rest.first == UInt8(ascii: "#"))
        guard isAlone || value.count >= 6 && value.contains(where: \.isDecimalDigit) else { return nil }
        return value.startIndex..<value.endIndex
    }

    /// Whether a value only refers to a secret, as in `${TOKEN}`, or is a scheme with the secret behind it.
    private func isReference(_ value: Range<Int>) -> Bool {
        let text = bytes[value]
        if let first = text.first, "$%<{*".utf8.contains(first) { return true }
        let word = String(decoding: text.prefix(10), as: UTF8.self).lowercased()
        return ["null", "nil", "none", "true", "false", "undefined", "basic", "bearer", "digest"].contains(word)
    }
}

extension SecretSearch {
    /// Finds the values of secret names in the lines of a text, as in `password: …`.
    public mutating func findAssignments() {
        var steps = 0
        add(Assignments.all(in: bytes, names: redaction.jsonNames, steps: &steps))
        count(steps)
    }
}
