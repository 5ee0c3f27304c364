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

    /// Adds an event; one without data is none.
    private mutating func add(_ data: [Range<Int>], _ type: Range<Int>?) {
        guard !data.isEmpty else { return }
        events.append(data)
        types.append(type)
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
