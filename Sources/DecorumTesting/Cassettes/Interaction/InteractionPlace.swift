import Foundation

/// The place of an interaction, as a person finds it.
enum InteractionPlace {
    /// The line of an interaction behind its request, as in ` (line 12)`; empty if it is not known.
    static func suffix(line: Int?) -> String { line.map { " (line \($0))" } ?? "" }

    /// The file of an interaction and its line, as in `feed.json:12`, which editors open; the file alone if the line is not
    /// known.
    static func address(in file: URL, line: Int?) -> String { file.relativePath + (line.map { ":\($0)" } ?? "") }

    /// The words for the line of an interaction and the tests that recorded it; empty if neither is known.
    static func words(line: Int?, tests: [String]) -> String {
        let parts =
            (line.map { ["line \($0)"] } ?? [])
            + (tests.isEmpty ? [] : ["recorded by \(tests.joined(separator: ", "))"])
        return parts.joined(separator: ", ")
    }
}
