import Decorum

/// Replaces the secrets in the JSON of an event stream, each of whose events has its data on a line of its own.
struct EventStreamRewriting {
    private static let mark = Array("data:".utf8)

    let rewriting: SecretRewriting

    /// The stream without the secrets in its JSON; nil if there are none.
    func rewritten(_ bytes: [UInt8]) -> [UInt8]? {
        var output: [UInt8] = []
        var copied = 0
        for line in bytes.indices.split(whereSeparator: { bytes[$0] == 0x0A || bytes[$0] == 0x0D }) {
            guard bytes[line].starts(with: Self.mark) else { continue }
            let data = bytes[line].dropFirst(Self.mark.count).drop { $0 == 0x20 }
            guard JSONText.isLikely(data) else { continue }
            let result = JSONRewriting(Array(data), by: rewriting).run()
            guard result.foundSecret else { continue }
            output += bytes[copied..<data.startIndex]
            output += result.bytes
            copied = data.endIndex
        }
        return copied == 0 ? nil : output + bytes[copied...]
    }

    static func includes(_ mediaType: String?) -> Bool {
        (mediaType ?? "").prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased() == "text/event-stream"
    }
}
