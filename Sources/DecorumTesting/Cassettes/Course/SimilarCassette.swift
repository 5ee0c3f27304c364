import Foundation

/// The cassette that a test may mean by the name of one that does not exist, since the test or its recording was renamed.
enum SimilarCassette {
    /// How to keep the recording of a renamed test, with the file that it may mean.
    static func remedy(for file: URL, isNamed: Bool) -> String {
        let remedy = remedy(isNamed: isNamed)
        return remedy.prefix(1).uppercased() + remedy.dropFirst()
            + (hint(for: file, isNamed: isNamed).map { ": \($0)." } ?? ".")
    }

    /// How to keep a recording whose file has another name; a test that names the file has it wrong.
    static func remedy(isNamed: Bool) -> String {
        isNamed
            ? "if the recording has another name, correct the name of the cassette in the test"
            : "if the test or the file of its recording was renamed, give the file the name of the test"
    }

    /// The words for a file in the same folder: the one whose name is nearest, or else the only one that the tests beside it do
    /// not name; nil if there is none, or if the name is that of a new case of a test, which needs a recording of its own.
    static func hint(for file: URL, isNamed: Bool) -> String? {
        let folder = file.deletingLastPathComponent()
        let files = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
            .filter { URL(filePath: $0).pathExtension == file.pathExtension }
        let names = Dictionary(files.map { (URL(filePath: $0).deletingPathExtension().lastPathComponent, $0) }) { $1 }
        let source = NamedCassettes.source(beside: file)?.text
        let named = source.map(NamedCassettes.names) ?? []
        let interpolated = source.map(NamedCassettes.interpolated) ?? []
        let wanted = file.deletingPathExtension().lastPathComponent
        let isNewCase = interpolated.contains { $0.matches(wanted) && names.keys.contains(where: $0.matches) }
        guard !isNamed || !isNewCase else { return nil }
        let left = Set(names.keys).subtracting(named).filter { name in !interpolated.contains { $0.matches(name) } }
        let misspelled: Set<String> = isNamed ? source.map { texts(like: wanted, in: $0) } ?? [] : []
        if let similar = SimilarName.nearest(to: wanted, among: left.union(misspelled.intersection(names.keys)))
            .flatMap({ names[$0] })
        {
            return "\(similar) in the same folder is similar"
        }
        guard !named.isEmpty, left.count == 1, let other = left.first.flatMap({ names[$0] }) else { return nil }
        return "\(other) in the same folder is named by no test in \(folder.lastPathComponent).swift"
    }

    /// The texts of a source that a name is misspelled for: several tests may name one cassette, and one of them wrongly.
    private static func texts(like wanted: String, in source: String) -> Set<String> {
        NamedCassettes.texts(in: source).subtracting(NamedCassettes.functions(in: source))
            .filter { SimilarName.isMisspelled(wanted, for: $0) }
    }
}
