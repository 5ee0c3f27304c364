import Foundation

/// The files in a zip archive, such as one that Playwright writes with an HTTP archive and the content beside it.
///
/// It follows APPNOTE.TXT of PKWARE, version 6.3, without encryption, parts and Zip64.
struct ZipArchive: Sendable {
    private struct Entry {
        let method: Int
        let checksum: [UInt8]
        let codedSize: Int
        let size: Int
        let offset: Int
    }

    private let bytes: Data
    private var entries: [String: Entry] = [:]

    /// Whether bytes begin as an archive does that has a file.
    static func isArchive(_ bytes: Data) -> Bool { bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) }

    init(_ document: Data) throws(CassetteImportError) {
        bytes = Data(document)
        guard let end = endOfDirectory() else { throw Self.damaged }
        var position = try number(at: end + 16, 4)
        for _ in 0..<(try number(at: end + 10, 2)) {
            guard try number(at: position, 4) == 0x0201_4B50 else { throw Self.damaged }
            let lengths = [
                try number(at: position + 28, 2), try number(at: position + 30, 2), try number(at: position + 32, 2),
            ]
            let name = String(decoding: try part(position + 46, lengths[0]), as: UTF8.self)
            guard try number(at: position + 8, 2) & 1 == 0 else {
                throw CassetteImportError(place: name, reason: "the file in the zip archive is encrypted")
            }
            entries[name] = Entry(
                method: try number(at: position + 10, 2), checksum: Array(try part(position + 16, 4)),
                codedSize: try number(at: position + 20, 4), size: try number(at: position + 24, 4),
                offset: try number(at: position + 42, 4))
            position += 46 + lengths.reduce(0, +)
        }
    }

    /// The name of the one file that may be a recording: an HTTP archive, or else the only file.
    func recording() throws(CassetteImportError) -> String {
        let archives = entries.keys.filter { $0.hasSuffix(".har") }
        let names = archives.isEmpty ? Array(entries.keys.filter { !$0.hasSuffix("/") }) : archives
        guard let name = names.first, names.count == 1 else {
            throw CassetteImportError(
                reason: "it is a zip archive of several files, none of which is the only .har")
        }
        return name
    }

    /// The content of a file; nil if the archive has no file of that name.
    ///
    /// Entries may share their bytes, so each reading is counted.
    func content(of name: String, within budget: inout ImportBudget) throws(CassetteImportError) -> Data? {
        guard let entry = entries[name] else { return nil }
        guard try number(at: entry.offset, 4) == 0x0403_4B50 else { throw Self.damaged }
        let header = try 30 + number(at: entry.offset + 26, 2) + number(at: entry.offset + 28, 2)
        let coded = try part(entry.offset + header, entry.codedSize)
        let content: Data?
        switch entry.method {
        case 0:
            try budget.spend(bytes: coded.count)
            content = coded
        case 8: content = try StoredCoding.decode(Self.gzip(coded, entry), "gzip", within: &budget)
        default:
            throw CassetteImportError(place: name, reason: "the file in the zip archive has an unusual compression")
        }
        guard let content, content.count == entry.size else {
            throw CassetteImportError(place: name, reason: "the file in the zip archive is damaged")
        }
        return content
    }

    /// The data of a file as gzip (RFC 1952), whose decoder compares the checksum and the length.
    private static func gzip(_ coded: Data, _ entry: Entry) -> Data {
        let length = (0..<4).map { UInt8(truncatingIfNeeded: entry.size >> ($0 * 8)) }
        return Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]) + coded + Data(entry.checksum + length)
    }

    private static let damaged = CassetteImportError(reason: "it is a zip archive that is damaged or too new")

    /// The offset of the record at the end, behind which only a comment may follow.
    private func endOfDirectory() -> Int? {
        let signature: [UInt8] = [0x50, 0x4B, 0x05, 0x06]
        let last = bytes.count - 22
        guard last >= 0 else { return nil }
        return (max(0, last - 0xFFFF)...last).reversed().first { bytes[$0...].starts(with: signature) }
    }

    private func part(_ offset: Int, _ count: Int) throws(CassetteImportError) -> Data {
        guard offset <= bytes.count, count <= bytes.count - offset else { throw Self.damaged }
        return bytes[offset..<offset + count]
    }

    private func number(at offset: Int, _ count: Int) throws(CassetteImportError) -> Int {
        try part(offset, count).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
