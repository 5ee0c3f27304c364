import Foundation

/// The cassettes that a source file of tests names, by its functions and by its texts.
///
/// A file of one of them belongs to a test that exists, so it is no recording of a test that was renamed.
enum NamedCassettes {
    /// The part of a source file that is read for an error, in bytes.
    private static let sizeLimit = 1 << 20

    /// The source file of the tests beside which a cassette is, as in `Cassettes/FeedTests/feed.json`: its name and the
    /// beginning of its text; nil if there is none.
    static func source(beside file: URL) -> (name: String, text: String)? {
        let folder = file.deletingLastPathComponent()
        let cassettes = folder.deletingLastPathComponent()
        guard cassettes.lastPathComponent == "Cassettes" else { return nil }
        let name = folder.lastPathComponent + ".swift"
        let path = cassettes.deletingLastPathComponent().appending(path: name).path
        guard let handle = FileHandle(forReadingAtPath: path), let data = try? handle.read(upToCount: sizeLimit) else {
            return nil
        }
        return (name, String(decoding: data, as: UTF8.self))
    }

    /// The names that a source gives to files, without their extension: those of its functions, and its texts of one line.
    static func names(in source: String) -> Set<String> { functions(in: source).union(texts(in: source)) }

    /// The names of the functions of a source, as names of files.
    static func functions(in source: String) -> Set<String> {
        Set(source.split(whereSeparator: \.isNewline).compactMap(function).map(CassettePath.fileName))
    }

    /// The texts of one line in a source, as names of files.
    static func texts(in source: String) -> Set<String> {
        Set(rawTexts(in: source).map { CassettePath.fileName(String($0)) })
    }

    /// The texts of one line in a source into which a value is inserted.
    static func interpolated(in source: String) -> Set<InterpolatedName> {
        Set(rawTexts(in: source).compactMap(InterpolatedName.init))
    }

    private static func rawTexts(in source: String) -> [Substring] {
        source.split(whereSeparator: \.isNewline).flatMap { line in
            let texts = line.split(separator: "\"", omittingEmptySubsequences: false)
            return texts.indices.filter { $0 % 2 == 1 && !texts[$0].isEmpty }.map { texts[$0] }
        }
    }

    /// The name of the function that a line declares; nil if it declares none.
    static func function(in line: Substring) -> String? {
        guard let start = line.range(of: "func ") else { return nil }
        let name = CassettePath.name(ofFunction: line[start.upperBound...].trimmingCharacters(in: .whitespaces))
        return name.isEmpty ? nil : name
    }
}
