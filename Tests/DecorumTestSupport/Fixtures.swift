public import Foundation

/// The project's test data in `Fixtures/`, and the further data that may be beside the checkout.
public enum Fixtures: Sendable {
    /// The folder `Fixtures` of the checkout.
    public static let folder: URL = checkout.appending(path: "Fixtures", directoryHint: .isDirectory)

    /// The file or folder at a path in `Fixtures`.
    public static func url(_ path: String) -> URL { folder.appending(path: path) }

    /// The content of a file in `Fixtures`.
    public static func data(_ path: String) throws -> Data { try Data(contentsOf: url(path)) }

    /// The rows of a table: a JSON file in `Fixtures` that holds a list.
    ///
    /// - Throws: An error where the file is absent, has other rows, or has none.
    public static func rows<Row: Decodable>(_ path: String, of type: Row.Type) throws -> [Row] {
        let rows = try JSONDecoder().decode([Row].self, from: data(path))
        guard !rows.isEmpty else { throw CocoaError(.fileReadCorruptFile) }
        return rows
    }

    /// The file or folder at a path in `shared`, which is beside the checkout of some developers; nil if absent.
    public static func shared(_ path: String) -> URL? {
        let url = checkout.deletingLastPathComponent().appending(path: "shared").appending(path: path)
        return FileManager.default.fileExists(atPath: url.path) ? url : nil
    }

    private static let checkout = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
}
