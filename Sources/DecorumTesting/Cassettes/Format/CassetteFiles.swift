import DecorumArchive
import Foundation

/// The files beside a cassette, in the folder `<name>.tape`, which hold what is too large or too binary for its text.
struct CassetteFiles {
    /// The folder that holds the cassette.
    let directory: URL
    /// The name of the folder beside it.
    let folder: String
    /// The added files, by name.
    private(set) var added: [String: Data] = [:]

    init(beside cassette: URL) {
        directory = cassette.deletingLastPathComponent()
        folder = cassette.deletingPathExtension().lastPathComponent + ".tape"
    }

    /// Adds content, and returns the path that names it in the cassette.
    ///
    /// The name follows from the content, so that content which has not changed is a file that has not changed.
    mutating func add(_ content: Data, mediaType: String?) -> String {
        let name = Self.checksum(content) + "." + Self.suffix(of: mediaType)
        let path = folder + "/" + name
        added[path] = content
        return path
    }

    /// Whether a path leads to a file in the folder, judged by its text alone.
    func contains(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0] == folder && !parts[1].hasPrefix(".") && !parts[1].isEmpty
    }

    /// Reads the file of a path, which must be one in the folder.
    func read(_ path: String, _ members: CassetteMembers) throws -> Data {
        guard contains(path) else { throw members.fault("its file is not in the folder \(folder)", at: "file") }
        let file = directory.appending(path: path)
        let inside = directory.appending(path: folder).resolvingSymlinksInPath().path + "/"
        guard file.resolvingSymlinksInPath().path.hasPrefix(inside) else {
            throw members.fault("its file leads out of the folder \(folder)", at: "file")
        }
        let remedy =
            "restore the file from version control, or record the test again with `CASSETTE=rewrite`, or delete the interaction"
        guard let content = try? Data(contentsOf: file) else {
            let fault = FileManager.default.fileExists(atPath: file.path) ? "cannot be read" : "is missing"
            throw members.fault("its file \(path) \(fault); \(remedy)", at: "file")
        }
        // The checksum detects files that were mixed up, not attacks: an attacker can change the cassette as well.
        let checksum = path.dropFirst(folder.count + 1).prefix { $0 != "." }
        guard checksum.elementsEqual(Self.checksum(content)) else {
            throw members.fault(
                "its file \(path) was changed after it was recorded, so its name is no longer the checksum of its content; "
                    + remedy, at: "file")
        }
        return content
    }

    /// FNV-1a, 64 bits, in 16 digits.
    static func checksum(_ content: Data) -> String {
        let hash: UInt64 = content.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func suffix(of mediaType: String?) -> String {
        let subtype = (mediaType ?? "").lowercased().prefix { $0 != ";" && $0 != "+" }.split(separator: "/").last
        let known: Set<Substring> = [
            "gif", "gzip", "jpeg", "mp4", "mpeg", "pdf", "png", "protobuf", "svg", "wav", "webp", "zip",
        ]
        return subtype.flatMap { known.contains($0) ? String($0) : nil } ?? "bin"
    }
}
