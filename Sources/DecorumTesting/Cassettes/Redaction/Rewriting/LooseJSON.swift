import Decorum

/// Replaces the secrets in text that is nearly JSON: incomplete, wrapped in a call, or only labelled as JSON.
///
/// It looks for a name in quotes with a colon after it, and takes the following text as its value. Everything else
/// stays, since a recorded answer is played back as it was.
struct LooseJSON {
    private static let keyLimit = 64

    private let bytes: ArraySlice<UInt8>
    private let rewriting: SecretRewriting
    private var output: [UInt8] = []
    private var copied: Int

    init(_ bytes: ArraySlice<UInt8>, by rewriting: SecretRewriting) {
        self.bytes = bytes
        self.rewriting = rewriting
        copied = bytes.startIndex
    }

    /// Replaces the secrets; nil when there are none.
    ///
    /// - Parameter valueName: The name of the secret with which the text starts; nil when it does not start with a
    ///   secret.
    /// - Returns: The text with replacements for its secrets.
    consuming func run(valueName: ArraySlice<UInt8>?) -> ArraySlice<UInt8>? {
        var index = bytes.startIndex
        if let valueName { index = replaceValue(at: index, named: valueName) }
        while let quote = bytes[index...].firstIndex(of: UInt8(ascii: "\"")) {
            index = quote + 1
            guard let end = bytes[index...].prefix(Self.keyLimit).firstIndex(of: UInt8(ascii: "\"")) else { continue }
            let colon = afterBlanks(end + 1)
            guard colon < bytes.endIndex, bytes[colon] == UInt8(ascii: ":"),
                let secrecy = rewriting.redaction.jsonNames.secrecy(of: JSONText.unescape(bytes[index..<end]))
            else { continue }
            let value = afterBlanks(colon + 1)
            let isText = value < bytes.endIndex && bytes[value] == UInt8(ascii: "\"")
            index = secrecy == .any || isText ? replaceValue(at: value, named: bytes[index..<end]) : value
        }
        return replacedLinks(in: copied == bytes.startIndex ? bytes : output + bytes[copied...])
    }

    private consuming func replacedLinks(in text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var links = SecretSearch(Array(text), redaction: rewriting.redaction, findsTokens: false)
        links.findInLinks()
        if let replaced = links.rewritten(by: rewriting) {
            return replaced == Array(bytes) ? nil : replaced[...]
        }
        return copied == bytes.startIndex ? nil : text
    }

    /// Replaces the value at an index and returns its end.
    private mutating func replaceValue(at start: Int, named name: ArraySlice<UInt8>) -> Int {
        guard start < bytes.endIndex else { return bytes.endIndex }
        guard bytes[start] == UInt8(ascii: "\"") else {
            let end = bytes[start...].firstIndex { $0 <= 0x20 || ",}]\"".utf8.contains($0) } ?? bytes.endIndex
            let number = NamedSecret(Array(bytes[start..<end]), named: name, at: .json(pattern: nil), isNumber: true)
            if let text = rewriting.replacement(of: number) { replace(start..<end, with: text) }
            return end
        }
        var end = start + 1
        while end < bytes.endIndex, bytes[end] != UInt8(ascii: "\"") {
            end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        end = min(end, bytes.endIndex)
        let content = bytes[start + 1..<end]
        let secret = content.dropFirst(AuthorizationScheme.length(in: content))
        let found = NamedSecret(JSONText.unescape(secret), named: name, at: .json(pattern: nil))
        let text = rewriting.replacement(of: found).map { JSONText.escape($0) }
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
