import Decorum
import DecorumArchive
import Foundation

/// Reads a file of JSON or YAML, compressed or not, as a tree.
enum StoredDocument {
    static func value(of document: Data, countLimit: Int = StoredValue.countLimit) throws -> StoredValue {
        var bytes = Array(document)
        if let coding = compression(of: bytes) {
            guard let content = StoredCoding.decode(document, coding) else {
                throw ImportFault(place: nil, reason: "it is compressed, and damaged or too large")
            }
            bytes = Array(content)
        }
        if bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) {
            throw ImportFault(place: nil, reason: "it is a zip archive, which has to be unpacked first")
        }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            throw ImportFault(place: nil, reason: "it is UTF-16, and only UTF-8 is read")
        }
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        guard let first = bytes[start...].first(where: { $0 > 0x20 }) else {
            throw ImportFault(place: nil, reason: "it is empty")
        }
        let isJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        return try isJSON ? json(bytes, countLimit) : yaml(bytes, countLimit)
    }

    /// The compression of the file itself; VCR writes zlib into files that end in `.zz`.
    private static func compression(of bytes: [UInt8]) -> String? {
        guard bytes.count > 2 else { return nil }
        if bytes[0] == 0x1F, bytes[1] == 0x8B { return "gzip" }
        return bytes[0] == 0x78 && StoredCoding.isMagic(Data(bytes.prefix(2)), of: "deflate") == true ? "deflate" : nil
    }

    private static func json(_ bytes: [UInt8], _ countLimit: Int) throws -> StoredValue {
        do {
            return StoredValue(try JSONValue(parsing: bytes, countLimit: countLimit))
        } catch let error as JSONSyntaxError {
            throw ImportFault(place: "line \(error.line(in: bytes))", reason: "it is not JSON: \(error.reason)")
        }
    }

    private static func yaml(_ bytes: [UInt8], _ countLimit: Int) throws -> StoredValue {
        do {
            return try YAMLReader.value(of: bytes, countLimit: countLimit)
        } catch {
            throw ImportFault(
                place: "line \(error.line)", reason: "it is not YAML as cassettes are written: \(error.reason)")
        }
    }
}
