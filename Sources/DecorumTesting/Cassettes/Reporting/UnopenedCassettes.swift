import Foundation

/// Finds the recordings that stand in the same folder `Cassettes` as opened ones, and were not opened themselves.
enum UnopenedCassettes {
    private static let folderName = "Cassettes"
    private static let extensions: Set = ["gz", "har", "json", "yaml", "yml", "zip", "zz"]

    /// The paths of recordings beside some opened files.
    static func all(beside opened: [String]) -> [String] {
        let isOpened = Set(opened)
        return Set(opened.compactMap(folder)).sorted().flatMap { folder in
            recordings(in: folder).map { folder + "/" + $0 }.filter { !isOpened.contains($0) }
        }
    }

    /// The innermost folder of that name around a file.
    private static func folder(of file: String) -> String? {
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        guard let last = parts.dropLast().lastIndex(of: folderName[...]) else { return nil }
        return parts[...last].joined(separator: "/")
    }

    /// The relative paths of recordings; the content of a cassette that stands in files of its own does not count.
    private static func recordings(in folder: String) -> [String] {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return paths.filter { path in
            let parts = path.split(separator: "/")
            return !parts.contains { $0.hasPrefix(".") } && !parts.dropLast().contains { $0.hasSuffix(".tape") }
                && extensions.contains(URL(filePath: path).pathExtension.lowercased())
        }.sorted()
    }
}
