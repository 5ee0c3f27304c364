import Foundation

/// The cassette whose name is similar to that of one that does not exist, since its test may have been renamed.
enum SimilarCassette {
    /// How to keep the recording of a renamed test, with the name of a file that is similar.
    static func remedy(for file: URL, isNamed: Bool) -> String {
        let remedy = remedy(isNamed: isNamed)
        return remedy.prefix(1).uppercased() + remedy.dropFirst()
            + (name(like: file).map { ": \($0) in the same folder is similar." } ?? ".")
    }

    /// How to keep a recording whose file has another name; a test that names the file has it wrong.
    static func remedy(isNamed: Bool) -> String {
        isNamed
            ? "if the recording has another name, correct the name of the cassette in the test"
            : "if the test was renamed, rename the file of its recording"
    }

    /// The name of the file in the same folder whose name is nearest, without those that the tests beside it name; nil if
    /// none is similar.
    static func name(like file: URL) -> String? {
        let folder = file.deletingLastPathComponent().path
        let files = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
            .filter { URL(filePath: $0).pathExtension == file.pathExtension }
        let names = Dictionary(files.map { (URL(filePath: $0).deletingPathExtension().lastPathComponent, $0) }) { $1 }
        let left = Set(names.keys).subtracting(NamedCassettes.names(beside: file))
        return SimilarName.nearest(to: file.deletingPathExtension().lastPathComponent, among: left)
            .flatMap { names[$0] }
    }
}
