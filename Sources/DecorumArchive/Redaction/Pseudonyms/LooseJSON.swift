import Decorum

/// Names the secrets in what is nearly JSON: cut short, wrapped in a call, or only labelled so.
///
/// It looks for a name in quotes with a colon behind it, and takes what follows for its value. Everything else stays,
/// since a recorded answer is to be played as it was.
struct LooseJSON {
    private static let keyLimit = 64

    private let bytes: ArraySlice<UInt8>
    private let redaction: Redaction
    private let pseudonyms: Pseudonyms
    private var output: [UInt8] = []
    private var copied: Int

    init(_ bytes: ArraySlice<UInt8>, redaction: Redaction, pseudonyms: Pseudonyms) {
        self.bytes = bytes
        self.redaction = redaction
        self.pseudonyms = pseudonyms
        copied = bytes.startIndex
    }

    /// Replaces the secrets; nil where there is none.
    ///
    /// - Parameter valueName: The name of the secret with which the text starts; nil where it does not.
    /// - Returns: The text with its secrets named.
    consuming func run(valueName: ArraySlice<UInt8>?) -> ArraySlice<UInt8>? {
        var index = bytes.startIndex
        if let valueName { index = replaceValue(at: index, named: valueName) }
        while let quote = bytes[index...].firstIndex(of: UInt8(ascii: "\"")) {
            index = quote + 1
            guard let end = bytes[index...].prefix(Self.keyLimit).firstIndex(of: UInt8(ascii: "\"")) else { continue }
            let colon = afterBlanks(end + 1)
            guard colon < bytes.endIndex, bytes[colon] == UInt8(ascii: ":"),
                let secrecy = redaction.jsonNames.secrecy(of: JSONText.unescape(bytes[index..<end]))
            else { continue }
            let value = afterBlanks(colon + 1)
            let isText = value < bytes.endIndex && bytes[value] == UInt8(ascii: "\"")
            index = secrecy == .any || isText ? replaceValue(at: value, named: bytes[index..<end]) : value
        }
        return replacedLinks(in: copied == bytes.startIndex ? bytes : output + bytes[copied...])
    }

    /// Tells whether a scalar is a number too long to be a count.
    static func isSecretNumber(_ scalar: ArraySlice<UInt8>) -> Bool {
        guard let first = scalar.first, (0x30...0x39).contains(first) || first == UInt8(ascii: "-") else {
            return false
        }
        return scalar.count { (0x30...0x39).contains($0) } >= 6
    }

    private consuming func replacedLinks(in text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var links = SecretSearch(Array(text), redaction: redaction, findsTokens: false)
        links.findInLinks()
        if let replaced = links.named(in: pseudonyms, redaction) {
            return replaced == Array(bytes) ? nil : replaced[...]
        }
        return copied == bytes.startIndex ? nil : text
    }

    /// Replaces the value at an index and returns where it ends.
    private mutating func replaceValue(at start: Int, named name: ArraySlice<UInt8>) -> Int {
        guard start < bytes.endIndex else { return bytes.endIndex }
        guard bytes[start] == UInt8(ascii: "\"") else {
            let end = bytes[start...].firstIndex { $0 <= 0x20 || ",}]\"".utf8.contains($0) } ?? bytes.endIndex
            if Self.isSecretNumber(bytes[start..<end]) { replace(start..<end, with: [UInt8(ascii: "0")]) }
            return end
        }
        var end = start + 1
        while end < bytes.endIndex, bytes[end] != UInt8(ascii: "\"") {
            end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        end = min(end, bytes.endIndex)
        let content = bytes[start + 1..<end]
        let secret = content.dropFirst(AuthorizationScheme.length(in: content))
        let text = redaction.pseudonym(of: JSONText.unescape(secret), named: name, in: pseudonyms)
        if let text, !text.elementsEqual(secret) {
            replace(secret.startIndex..<secret.endIndex, with: text)
        }
        return min(end + 1, bytes.endIndex)
    }

    private mutating func replace(_ range: Range<Int>, with text: [UInt8]) {
        output += bytes[copied..<range.lowerBound]
        output += text
        copied = range.upperBound
    }

    private func afterBlanks(_ index: Int) -> Int {
        bytes[index...].firstIndex { $0 > 0x20 } ?? bytes.endIndex
    }
}
