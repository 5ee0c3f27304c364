import Decorum

/// Replaces the secrets of an event stream, whose events have JSON or text as their data.
struct EventStreamRewriting {
    let rewriting: SecretRewriting

    /// The stream without its secrets; nil if there are none.
    func rewritten(_ bytes: [UInt8]) -> [UInt8]? {
        let stream = EventLines(bytes)
        var changes = stream.otherLines.compactMap(change(of: stream))
        for event in stream.events {
            changes += self.changes(in: event, of: stream) ?? event.compactMap(change(of: stream))
        }
        guard !changes.isEmpty else { return nil }
        var output: [UInt8] = []
        var copied = 0
        for (range, text) in changes.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
            output += bytes[copied..<range.lowerBound]
            output += text
            copied = range.upperBound
        }
        return output + bytes[copied...]
    }

    /// The data of each event in a stream: those of an event as a whole if they are JSON, and else those of each line, since
    /// some servers write no empty line between two events.
    static func data(in bytes: [UInt8]) -> [[UInt8]] {
        let stream = EventLines(bytes)
        return stream.events.flatMap { event in
            let whole = stream.joined(event)
            return isJSON(whole) ? [whole] : event.map { Array(bytes[$0]) }
        }
    }

    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        var scanner = JSONScanner(bytes)
        return (try? scanner.skipValue()) != nil && scanner.next() == nil
    }

    /// The changes in the data of an event that is JSON over several lines; nil if it is not.
    ///
    /// No string of JSON has a line feed, so each line of the event stays a line.
    private func changes(in event: [Range<Int>], of stream: EventLines) -> [(range: Range<Int>, text: [UInt8])]? {
        guard event.count > 1 else { return nil }
        let whole = stream.joined(event)
        guard JSONText.isLikely(whole), Self.isJSON(whole) else { return nil }
        let result = JSONRewriting(whole, by: rewriting).run()
        let lines = result.bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard result.isWhole, lines.count == event.count else { return nil }
        guard result.foundSecret else { return [] }
        return zip(event, lines).map { ($0, Array($1)) }
    }

    private func change(of stream: EventLines) -> (_ line: Range<Int>) -> (range: Range<Int>, text: [UInt8])? {
        { line in rewritten(line: stream.bytes[line]).map { (line, $0) } }
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
        mediaType?.mediaTypeEssence == "text/event-stream"
    }
}
