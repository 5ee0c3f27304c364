import Decorum

/// The events of a stream (WHATWG HTML, section 9.2.6), each with the places of its data and of its type.
///
/// An event may have its data on several lines, which its reader joins with line feeds, so JSON may extend over them.
struct EventLines {
    let bytes: [UInt8]
    /// The events that have data: the ranges of the data in its lines, and the range of its type, if it has one.
    private(set) var events: [(data: [Range<Int>], type: Range<Int>?)] = []
    /// The other lines that are not empty: other fields, comments, and lines that are no field.
    private(set) var otherLines: [Range<Int>] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var event: (data: [Range<Int>], type: Range<Int>?) = ([], nil)
        var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            if start == end {
                if !event.data.isEmpty { events.append(event) }
                event = ([], nil)
            } else if let value = Self.value(of: "data", in: bytes[start..<end]) {
                event.data.append(value)
            } else {
                event.type = Self.value(of: "event", in: bytes[start..<end]) ?? event.type
                otherLines.append(start..<end)
            }
            let isPair = end + 1 < bytes.count && bytes[end] == 0x0D && bytes[end + 1] == 0x0A
            start = end + (isPair ? 2 : 1)
        }
        // A stream may be cut within an event.
        if !event.data.isEmpty { events.append(event) }
    }

    /// Whether a media type is that of an event stream.
    static func includes(_ mediaType: String?) -> Bool { mediaType?.mediaTypeEssence == "text/event-stream" }

    /// The data of each event in a stream: of an event as a whole if they are JSON, and else of each line, since
    /// some servers write no empty line between two events.
    static func data(in bytes: [UInt8]) -> [[UInt8]] {
        let stream = EventLines(bytes)
        return stream.events.flatMap { data, _ in
            let whole = stream.joined(data)
            return isJSON(whole) ? [whole] : data.map { Array(bytes[$0]) }
        }
    }

    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        var scanner = JSONScanner(bytes)
        return JSONText.isLikely(bytes) && (try? scanner.skipValue()) != nil && scanner.next() == nil
    }

    /// The stream without its secrets, whose events have JSON or text as their data; nil if it has no secret.
    ///
    /// The rules for JSON decide alone on JSON. No string of JSON has a line feed, so each line of an event stays a line.
    func rewritten(by rewriting: SecretRewriting) -> [UInt8]? {
        var joinedLines: [Int: [UInt8]] = [:]
        for (data, _) in events where data.count > 1 && Self.isJSON(joined(data)) {
            let whole = joined(data)
            let lines = (JSONRewriting(whole, by: rewriting).run().bytes ?? whole)
                .split(separator: 0x0A, omittingEmptySubsequences: false)
            for (line, text) in zip(data, lines) { joinedLines[line.lowerBound] = Array(text) }
        }
        let lines = (events.flatMap(\.data) + otherLines).sorted { $0.lowerBound < $1.lowerBound }
        return bytes.replacing(lines) { line in
            let old = Array(bytes[line])
            if let text = joinedLines[line.lowerBound] { return text == old ? nil : text }
            let json = JSONText.isLikely(old) ? JSONRewriting(old, by: rewriting).run() : (bytes: nil, isWhole: false)
            return json.isWhole ? json.bytes : rewriting.rewritten(text: json.bytes ?? old, at: .text) ?? json.bytes
        }
    }

    /// The data of an event, as its reader gets them.
    func joined(_ data: [Range<Int>]) -> [UInt8] { Array(data.map { bytes[$0] }.joined(separator: [0x0A])) }

    /// The types of the events, as a reader gets them: an event without one is a message.
    var typeNames: Set<String> {
        Set(
            events.map { _, type in
                type.flatMap { $0.isEmpty ? nil : String(decoding: bytes[$0], as: UTF8.self) } ?? "message"
            })
    }

    /// The value of a line, if it has a field.
    private static func value(of name: String, in line: ArraySlice<UInt8>) -> Range<Int>? {
        guard line.starts(with: name.utf8) else { return nil }
        let rest = line.dropFirst(name.utf8.count)
        guard let colon = rest.first else { return line.endIndex..<line.endIndex }
        guard colon == UInt8(ascii: ":") else { return nil }
        let value = rest.dropFirst()
        return (value.first == 0x20 ? value.startIndex + 1 : value.startIndex)..<value.endIndex
    }
}
