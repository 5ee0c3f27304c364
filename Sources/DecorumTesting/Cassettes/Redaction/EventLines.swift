import Decorum

/// The events of a stream (WHATWG HTML, section 9.2.6), each with the places of its data and of its type.
///
/// An event may have its data on several lines, which its reader joins with line feeds, so JSON may extend over them.
struct EventLines {
    private static let dataName = Array("data".utf8)
    private static let typeName = Array("event".utf8)

    let bytes: [UInt8]
    /// For each event that has data, the ranges of the data in its lines.
    private(set) var events: [[Range<Int>]] = []
    /// For each of these events, the range of its type; nil for an event without one.
    private(set) var types: [Range<Int>?] = []
    /// The other lines that are not empty: other fields, comments, and lines that are no field.
    private(set) var otherLines: [Range<Int>] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var data: [Range<Int>] = []
        var type: Range<Int>?
        var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            if start == end {
                add(data, type)
                data = []
                type = nil
            } else if let value = Self.value(of: Self.dataName, in: bytes[start..<end]) {
                data.append(value)
            } else {
                type = Self.value(of: Self.typeName, in: bytes[start..<end]) ?? type
                otherLines.append(start..<end)
            }
            let isPair = end + 1 < bytes.count && bytes[end] == 0x0D && bytes[end + 1] == 0x0A
            start = end + (isPair ? 2 : 1)
        }
        // A stream may be cut within an event.
        add(data, type)
    }

    /// Adds an event; lines without data are no event.
    private mutating func add(_ data: [Range<Int>], _ type: Range<Int>?) {
        guard !data.isEmpty else { return }
        events.append(data)
        types.append(type)
    }

    /// Whether a media type is that of an event stream.
    static func includes(_ mediaType: String?) -> Bool { mediaType?.mediaTypeEssence == "text/event-stream" }

    /// The data of each event in a stream: of an event as a whole if they are JSON, and else of each line, since
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
        return JSONText.isLikely(bytes) && (try? scanner.skipValue()) != nil && scanner.next() == nil
    }

    /// The stream without its secrets, whose events have JSON or text as their data; nil if it has none.
    ///
    /// The rules for JSON decide alone on JSON. No string of JSON has a line feed, so each line of an event stays a line.
    func rewritten(by rewriting: SecretRewriting) -> [UInt8]? {
        var joinedLines: [Int: [UInt8]] = [:]
        for event in events where event.count > 1 && Self.isJSON(joined(event)) {
            let whole = joined(event)
            let lines = (JSONRewriting(whole, by: rewriting).run().bytes ?? whole)
                .split(separator: 0x0A, omittingEmptySubsequences: false)
            for (line, text) in zip(event, lines) { joinedLines[line.lowerBound] = Array(text) }
        }
        let lines = (events.flatMap(\.self) + otherLines).sorted { $0.lowerBound < $1.lowerBound }
        return bytes.replacing(lines) { line in
            if let text = joinedLines[line.lowerBound] { return text.elementsEqual(bytes[line]) ? nil : text }
            var text = Array(bytes[line])
            var isChanged = false
            if JSONText.isLikely(text) {
                let json = JSONRewriting(text, by: rewriting).run()
                guard !json.isWhole else { return json.bytes }
                (text, isChanged) = (json.bytes ?? text, json.bytes != nil)
            }
            return rewriting.rewritten(text: text, at: .text) ?? (isChanged ? text : nil)
        }
    }

    /// The data of an event, as its reader gets them.
    func joined(_ event: [Range<Int>]) -> [UInt8] {
        Array(event.map { bytes[$0] }.joined(separator: [0x0A]))
    }

    /// The types of the events, as a reader gets them.
    var typeNames: Set<String> { Set(typeCounts.keys) }

    /// The numbers of events by their types, as a reader gets them: an event without one is a message.
    var typeCounts: [String: Int] {
        Dictionary(types.indices.map { (typeName(at: $0), 1) }, uniquingKeysWith: +)
    }

    /// The type of an event, as a reader gets it.
    func typeName(at index: Int) -> String {
        types[index].flatMap { $0.isEmpty ? nil : String(decoding: bytes[$0], as: UTF8.self) } ?? "message"
    }

    /// The value of a line, if it has a field.
    private static func value(of name: [UInt8], in line: ArraySlice<UInt8>) -> Range<Int>? {
        guard line.starts(with: name) else { return nil }
        let rest = line.dropFirst(name.count)
        guard let colon = rest.first else { return line.endIndex..<line.endIndex }
        guard colon == UInt8(ascii: ":") else { return nil }
        let value = rest.dropFirst()
        return (value.first == 0x20 ? value.startIndex + 1 : value.startIndex)..<value.endIndex
    }
}
