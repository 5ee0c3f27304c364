import Foundation

/// The file that holds the same bytes as a cassette, such as one from which it was copied by mistake.
struct EqualCassette: Sendable {
    /// The name of the file; nil if there is none.
    let name: String?

    /// Looks for the file beside a cassette.
    init(of file: URL) { name = Self.name(of: file) }

    /// The most files of the folder that are compared.
    private static let fileLimit = 100

    /// The name of another file in the folder of a cassette with the same content; nil if there is none.
    static func name(of file: URL) -> String? {
        guard let size = size(of: file), size > 0 else { return nil }
        let folder = file.deletingLastPathComponent()
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
            .filter { $0 != file.lastPathComponent && URL(filePath: $0).pathExtension == file.pathExtension }
        return names.sorted().filter { Self.size(of: folder.appending(path: $0)) == size }.prefix(fileLimit).first {
            FileManager.default.contentsEqual(atPath: file.path, andPath: folder.appending(path: $0).path)
        }
    }

    private static func size(of file: URL) -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        return (attributes?[.size] as? NSNumber)?.intValue
    }
}
