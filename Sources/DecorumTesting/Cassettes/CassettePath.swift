import Foundation

/// The paths of the cassettes of tests.
public enum CassettePath: Sendable {
    /// The path of a cassette in the folder `Cassettes` beside the file of a test.
    ///
    /// - Parameters:
    ///   - name: The name of the cassette; characters that a file system may refuse become hyphens.
    ///   - filePath: The path of the file of the test.
    /// - Returns: The path.
    public static func path(_ name: String, beside filePath: String) -> String {
        let file = URL(filePath: filePath)
        let folder = file.deletingLastPathComponent().appending(path: "Cassettes")
            .appending(path: file.deletingPathExtension().lastPathComponent)
        return folder.appending(path: fileName(name) + ".json").path
    }

    /// The name of a function without its parameters; a name in backticks may hold parentheses.
    ///
    /// - Parameter function: The name, as `#function` gives it.
    /// - Returns: The name of a cassette.
    public static func name(ofFunction function: String) -> String {
        guard function.first == "`" else { return String(function.prefix { $0 != "(" }) }
        return String(function.dropFirst().prefix { $0 != "`" })
    }

    static func fileName(_ name: String) -> String {
        let hyphenated = hyphenated(name)
        let visible = hyphenated.hasPrefix(".") ? "-" + hyphenated.dropFirst() : hyphenated
        return shortened(visible, to: lengthLimit, of: name)
    }

    /// A part of a name as the name of a file has it.
    static func hyphenated(_ part: String) -> String {
        String(part.map { $0.isLetter || $0.isNumber || "._-".contains($0) ? $0 : "-" })
    }

    /// The arguments of a case as a part of a test's name.
    package static func shortened(_ arguments: String) -> String { shortened(arguments, to: 60, of: arguments) }

    private static func shortened(_ text: String, to limit: Int, of name: String) -> String {
        guard text.utf8.count > limit else { return text }
        // The checksum distinguishes two names that differ in the part that is cut off.
        var start = ""
        for character in text {
            guard start.utf8.count + character.utf8.count <= limit else { break }
            start.append(character)
        }
        return start + "-" + CassetteFiles.checksum(Data(name.utf8))
    }

    /// The bytes of a name that are kept; file systems allow 255, some of which the checksum and the extension need.
    private static let lengthLimit = 180
}
