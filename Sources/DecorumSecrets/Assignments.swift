/// Finds the values of secret names in lines such as `DB_PASSWORD=…`, `token: …` and `api_key = "…"`.
///
/// Prose has colons too. So behind a colon within a line, or of several words, a value without quotes is secret only if
/// it has a digit; a line of YAML or of a settings file has its name at its start, and one value behind it.
struct Assignments {
    private static let nameLimit = 48
    private static let valueLimit = 4096

    private let bytes: [UInt8]
    private let names: SecretNameSet

    /// The secrets in a text.
    static func all(in bytes: [UInt8], names: SecretNameSet) -> [SecretSearch.Found] {
        guard !names.isEmpty else { return [] }
        let assignments = Assignments(bytes: bytes, names: names)
        var found: [SecretSearch.Found] = []
        var index = 0
        while let separator = bytes[index...].firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") })
        {
            index = separator + 1
            guard let secret = assignments.secret(at: separator) else { continue }
            found.append(secret)
            index = max(index, secret.range.upperBound)
        }
        return found
    }

    private func secret(at separator: Int) -> SecretSearch.Found? {
        guard let name = name(before: separator), let secrecy = names.secrecy(of: bytes[name]),
            let value = value(behind: separator, startsLine: startsLine(name.lowerBound)), !isReference(value)
        else { return nil }
        if secrecy == .text, bytes[value].allSatisfy(\.isDigit), value.count <= 15 { return nil }
        return SecretSearch.Found(value, named: name)
    }

    private func name(before separator: Int) -> Range<Int>? {
        var end = separator
        while end > 0, separator - end < 4, " \t\"'".utf8.contains(bytes[end - 1]) { end -= 1 }
        var start = end
        while start > 0, end - start < Self.nameLimit, bytes[start - 1].isInWord { start -= 1 }
        return end - start > 2 ? start..<end : nil
    }

    /// Whether only blanks, a list mark or `export` stand before a name in its line.
    private func startsLine(_ name: Int) -> Bool {
        let line = bytes[..<name].suffix(40)
        let start = line.lastIndex(of: 0x0A).map { $0 + 1 } ?? line.startIndex
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
        if isEquals, start == separator + 1 { return value.indices }
        let rest = bytes[value.endIndex...].prefix { $0 != 0x0A && $0 != 0x0D }.drop { $0 == 0x20 || $0 == 0x09 }
        let isAlone = startsLine && (rest.isEmpty || rest.first == UInt8(ascii: "#"))
        return isAlone || value.count >= 6 && value.contains(where: \.isDigit) ? value.indices : nil
    }

    /// Whether a value only refers to a secret, as in `${TOKEN}`, or is a scheme with the secret behind it.
    private func isReference(_ value: Range<Int>) -> Bool {
        if let first = bytes[value].first, "$%<{*".utf8.contains(first) { return true }
        let word = String(decoding: bytes[value].prefix(10), as: UTF8.self).lowercased()
        return ["null", "nil", "none", "true", "false", "undefined", "basic", "bearer", "digest"].contains(word)
    }
}
