/// The parts of a URL or a form that may be secret: the user name with the password, and the values of items.
extension SecretSearch {
    mutating func findUserinfo(in url: Range<Int>) {
        steps += url.count
        guard let lastAt = url.last(where: { bytes[$0] == UInt8(ascii: "@") }) else { return }
        var index = url.lowerBound
        while index < lastAt {
            let startsAuthority =
                isDoubleSlash(at: index) && (index == url.lowerBound || bytes[index - 1] == UInt8(ascii: ":"))
            guard startsAuthority else {
                index += 1
                continue
            }
            let start = index + 2
            let end = (start..<url.upperBound).first { "/?#\\".utf8.contains(bytes[$0]) } ?? url.upperBound
            steps += 2 * (end - start)
            if let at = (start..<end).last(where: { bytes[$0] == UInt8(ascii: "@") }) {
                if at > start { found.append(Found(range: start..<at, name: nil)) }
                index = end
            } else if hasImpossiblePort(start..<end), lastAt > start {
                // The password holds a slash that is not encoded, so the authority extends beyond the slash.
                found.append(Found(range: start..<lastAt, name: nil))
                return
            } else {
                index = max(end, start)
            }
        }
    }

    private func hasImpossiblePort(_ authority: Range<Int>) -> Bool {
        guard let first = authority.first, bytes[first] != UInt8(ascii: "["),
            let colon = authority.last(where: { bytes[$0] == UInt8(ascii: ":") })
        else { return false }
        return bytes[colon + 1..<authority.upperBound].contains { !(0x30...0x39).contains($0) }
    }

    mutating func findItems(in part: Range<Int>, separator: UInt8, names: SecretNames) {
        var start = part.lowerBound
        while start < part.upperBound {
            let end = bytes[start..<part.upperBound].firstIndex(of: separator) ?? part.upperBound
            if let secret = secretValue(in: start..<end, names: names) { found.append(secret) }
            start = end + 1
        }
    }

    private mutating func secretValue(in item: Range<Int>, names: SecretNames) -> Found? {
        steps += item.count
        var nameStart: Int? = item.lowerBound
        var firstValue: Int?
        for index in item {
            switch bytes[index] {
            case UInt8(ascii: "="):
                firstValue = firstValue ?? index + 1
                let value = bytes[index + 1..<item.upperBound]
                steps += nameStart.map { index - $0 } ?? 0
                if let start = nameStart, names.isSecret(value, of: PercentCoding.decode(bytes[start..<index])) {
                    return Found(range: index + 1..<item.upperBound, name: start..<index)
                }
                nameStart = nil
            case UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: ";"), UInt8(ascii: "#"), UInt8(ascii: "/"):
                nameStart = index + 1
            default: break
            }
        }
        let value = (firstValue ?? item.lowerBound)..<item.upperBound
        return holdsEncodedSecret(value) ? Found(range: value, name: item.lowerBound..<value.lowerBound) : nil
    }

    /// Returns whether a value is an encoded URL or JSON with a secret.
    private mutating func holdsEncodedSecret(_ value: Range<Int>) -> Bool {
        let isEncoded = bytes[value].contains(UInt8(ascii: "%"))
        guard nesting > 0, isEncoded || bytes[value].contains(UInt8(ascii: "{")) else { return false }
        let decoded = PercentCoding.decode(bytes[value])
        steps += value.count
        if JSONText.isLikely(decoded) {
            let inner = JSONRedactor(decoded, redaction: redaction, nesting: nesting - 1, masksTokens: findsTokens)
                .run()
            steps += inner.steps
            return inner.foundSecret
        }
        guard isEncoded else { return false }
        var inner = SecretSearch(decoded, redaction: redaction, nesting: nesting - 1, findsTokens: findsTokens)
        inner.findInURL()
        inner.findTokens()
        steps += inner.steps
        return !inner.found.isEmpty
    }
}
