import Decorum

/// Replaces the secrets of an event stream, each of whose events has its data on a line of its own, as JSON or as text.
struct EventStreamRewriting {
    private static let mark = Array("data:".utf8)

    let rewriting: SecretRewriting

    /// The stream without its secrets; nil if there are none.
    func rewritten(_ bytes: [UInt8]) -> [UInt8]? {
        var output: [UInt8] = []
        var copied = 0
        for line in bytes.indices.split(whereSeparator: { bytes[$0] == 0x0A || bytes[$0] == 0x0D }) {
            let text = Self.data(of: bytes[line])
            guard let rewritten = rewritten(line: text) else { continue }
            output += bytes[copied..<text.startIndex]
            output += rewritten
            copied = text.endIndex
        }
        return copied == 0 ? nil : output + bytes[copied...]
    }

    /// The data of events, line by line.
    static func data(in bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).filter { $0.starts(with: mark) }.map(data)
    }

    /// The line of an event without the name of its field, if that is `data`.
    private static func data(of line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.starts(with: mark) ? line.dropFirst(mark.count).drop { $0 == 0x20 } : line
    }

    /// A line without its secrets; nil if there are none.
    ///
    /// The rules for JSON decide alone on a line that is JSON.
    private func rewritten(line: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes = Array(line)
        var foundSecret = false
        if JSONText.isLikely(bytes) {
            let result = JSONRewriting(bytes, by: rewriting).run()
            guard !result.isWhole else { return result.foundSecret ? result.bytes : nil }
            (bytes, foundSecret) = (result.bytes, result.foundSecret)
        }
        var search = SecretSearch(bytes, redaction: rewriting.redaction, findsTokens: false)
        search.findInLinks()
        search.findAssignments()
        return search.rewritten(by: rewriting, at: .text) ?? (foundSecret ? bytes : nil)
    }

    static func includes(_ mediaType: String?) -> Bool {
        (mediaType ?? "").prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased() == "text/event-stream"
    }
}
