public import Decorum

/// Finds the secrets in a table of text (RFC 4180), by the headings of its columns.
public struct TableSecrets: Sendable {
    private let bytes: [UInt8]
    private let delimiter: UInt8
    private var position = 0

    /// Returns the byte between the cells of a table; nil if the media type is none of a table.
    ///
    /// - Parameter mediaType: The value of `Content-Type`; nil when absent.
    /// - Returns: A comma or a tab.
    public static func delimiter(ofMediaType mediaType: String?) -> UInt8? {
        switch mediaType?.mediaTypeEssence {
        case "text/csv": return UInt8(ascii: ",")
        case "text/tab-separated-values": return 0x09
        default: return nil
        }
    }

    /// Finds the cells below secret headings.
    ///
    /// - Parameters:
    ///   - bytes: The table, whose first line has the headings.
    ///   - delimiter: The byte between cells; for a comma, a semicolon in the headings counts too.
    ///   - names: The headings whose cells are secret.
    /// - Returns: The cells, in the order of the text, without the quotation marks around them.
    public static func all(in bytes: [UInt8], delimiter: UInt8, names: SecretNames) -> [SecretSearch.Found] {
        guard !names.isEmpty else { return [] }
        let headings = bytes.prefix { $0 != 0x0A }
        let hasSemicolons = headings.contains(UInt8(ascii: ";")) && !headings.contains(delimiter)
        var table = TableSecrets(bytes: bytes, delimiter: hasSemicolons ? UInt8(ascii: ";") : delimiter)
        let columns = table.row().map { names.secrecy(of: bytes[$0]) == nil ? nil : $0 }
        guard columns.contains(where: { $0 != nil }) else { return [] }
        var found: [SecretSearch.Found] = []
        while table.position < bytes.count {
            for (cell, heading) in zip(table.row(), columns) {
                guard let heading, names.isSecret(bytes[cell], of: bytes[heading]), !cell.isEmpty else { continue }
                found.append(SecretSearch.Found(range: cell, name: heading))
            }
        }
        return found
    }

    private init(bytes: [UInt8], delimiter: UInt8) {
        self.bytes = bytes
        self.delimiter = delimiter
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// Scans a line.
    private mutating func row() -> [Range<Int>] {
        var cells: [Range<Int>] = []
        while true {
            cells.append(cell())
            guard position < bytes.count, bytes[position] == delimiter else { break }
            position += 1
        }
        if position < bytes.count, bytes[position] == 0x0D { position += 1 }
        if position < bytes.count, bytes[position] == 0x0A { position += 1 }
        return cells
    }

    private mutating func cell() -> Range<Int> {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
            let end = bytes[position...].firstIndex { $0 == delimiter || $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            defer { position = end }
            return position..<end
        }
        let start = position + 1
        position = start
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "\"") else {
                position += 1
                continue
            }
            guard position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "\"") else { break }
            position += 2
        }
        let content = start..<position
        position = bytes[position...].firstIndex { $0 == delimiter || $0 == 0x0A || $0 == 0x0D } ?? bytes.count
        return content
    }
}
