import Decorum
import DecorumArchive
import Foundation

/// Reads a file of JSON or YAML, compressed or not, as a tree.
enum StoredDocument {
    /// Undoes the compression of a file.
    static func decompressed(_ document: Data, within budget: inout ImportBudget) throws(ImportFault) -> Data {
        guard let coding = compression(of: Array(document.prefix(3))) else { return document }
        let content = try StoredCoding.decode(document, coding, within: &budget)
        guard let content, content.count <= budget.limits.fileLength else {
            throw ImportFault(place: nil, reason: "it is compressed, and damaged or too large")
        }
        return content
    }

    /// Reads the tree of a file that is not compressed.
    static func value(of document: Data, within budget: inout ImportBudget) throws(ImportFault) -> StoredValue {
        let bytes = Array(document)
        if ZipArchive.isArchive(document) {
            throw ImportFault(place: nil, reason: "it is a zip archive, which has to be unpacked first")
        }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            throw ImportFault(place: nil, reason: "it is UTF-16; save it as UTF-8")
        }
        if bytes.starts(with: "version https://git-lfs.github.com/".utf8) {
            throw ImportFault(place: nil, reason: "it is a pointer of Git LFS; `git lfs pull` fetches its content")
        }
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        guard let first = bytes[start...].first(where: { $0 > 0x20 }) else {
            throw ImportFault(place: nil, reason: "it is empty")
        }
        let isJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        let (value, count) = try isJSON ? json(bytes, budget.count) : yaml(bytes, budget.count)
        try budget.spend(values: count)
        return value
    }

    /// The compression of the file itself; VCR writes zlib into files that end in `.zz`.
    private static func compression(of bytes: [UInt8]) -> String? {
        guard bytes.count > 2 else { return nil }
        if bytes[0] == 0x1F, bytes[1] == 0x8B { return "gzip" }
        return bytes[0] == 0x78 && StoredCoding.isMagic(Data(bytes.prefix(2)), of: "deflate") == true ? "deflate" : nil
    }

    private static func json(_ bytes: [UInt8], _ countLimit: Int) throws(ImportFault) -> (StoredValue, count: Int) {
        do {
            return try JSONTree.value(of: bytes, countLimit: countLimit)
        } catch {
            let error = error as? JSONSyntaxError
            let line = error?.line(in: bytes) ?? 1
            throw ImportFault(
                place: "line \(line)", line: line, reason: "it is not JSON: \(error?.reason ?? "it cannot be read")")
        }
    }

    private static func yaml(_ bytes: [UInt8], _ countLimit: Int) throws(ImportFault) -> (StoredValue, count: Int) {
        do throws(YAMLSyntaxError) {
            return try YAMLReader.value(of: bytes, countLimit: countLimit)
        } catch {
            throw ImportFault(
                place: "line \(error.line)", line: error.line,
                reason: "it is not YAML as cassettes are written: \(error.reason)")
        }
    }
}
