/// The events of a stream (WHATWG HTML, section 9.2.6), each with the places of its data.
///
/// An event may have its data on several lines, which its reader joins with line feeds, so JSON may extend over them.
struct EventLines {
    private static let name = Array("data".utf8)

    let bytes: [UInt8]
    /// For each event that has data, the ranges of the data in its lines.
    private(set) var events: [[Range<Int>]] = []
    /// The other lines that are not empty: other fields, comments, and lines that are no field.
    private(set) var otherLines: [Range<Int>] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var data: [Range<Int>] = []
        var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            if start == end {
                if !data.isEmpty { events.append(data) }
                data = []
            } else if let value = Self.data(of: bytes[start..<end]) {
                data.append(value)
            } else {
                otherLines.append(start..<end)
            }
            let isPair = end + 1 < bytes.count && bytes[end] == 0x0D && bytes[end + 1] == 0x0A
            start = end + (isPair ? 2 : 1)
        }
        // A stream may be cut within an event.
        if !data.isEmpty { events.append(data) }
    }

    /// The data of an event, as its reader gets them.
    func joined(_ event: [Range<Int>]) -> [UInt8] {
        Array(event.map { bytes[$0] }.joined(separator: [0x0A]))
    }

    /// The value of a line, if it is data.
    private static func data(of line: ArraySlice<UInt8>) -> Range<Int>? {
        guard line.starts(with: name) else { return nil }
        let rest = line.dropFirst(name.count)
        guard let colon = rest.first else { return line.endIndex..<line.endIndex }
        guard colon == UInt8(ascii: ":") else { return nil }
        let value = rest.dropFirst()
        return (value.first == 0x20 ? value.startIndex + 1 : value.startIndex)..<value.endIndex
    }
}
