public import Foundation
import Testing

/// The texts of a number of errors, compared with a section of the golden file `Fixtures/errors.txt`.
///
/// With `DECORUM_RENEW=errors` in the environment, a comparison writes the section instead.
public struct ErrorTexts: Sendable {
    private static let golden = "errors.txt"
    private static let note = """
        The texts of errors as a developer reads them. Ports, times and the words of a platform are left out.
        DECORUM_RENEW=errors swift test --no-parallel --enable-all-traits --filter ErrorTextTests
        writes this file anew; read the difference before you keep it.

        """

    private let section: String
    private var texts: [(name: String, text: String)] = []

    /// Creates an empty list.
    ///
    /// - Parameter section: The name of the section in the file.
    public init(_ section: String) {
        self.section = section
    }

    /// Performs an operation, and adds the text of the error that it throws.
    public mutating func add(_ name: String, _ operation: () async throws -> Void) async {
        do {
            try await operation()
            Issue.record("“\(name)” throws no error.")
        } catch {
            if "\(error)" != error.localizedDescription {
                Issue.record("“\(name)” is localized as \(error.localizedDescription)")
            }
            #expect(!"\(error)".contains("s3cret"), "“\(name)” shows a secret")
            texts.append((name, Self.normalized("\(error)")))
        }
    }

    /// Compares the texts with the texts of the file, or writes them there.
    public func check() throws {
        var sections = try Self.sections()
        let text = texts.map { "\($0.name): \($0.text)\n" }.joined()
        if ProcessInfo.processInfo.environment["DECORUM_RENEW"] == "errors" {
            sections[section] = text
            let content = sections.sorted { $0.key < $1.key }.map { "\n# \($0.key)\n\($0.value)" }.joined()
            try Data((Self.note + content).utf8).write(to: Fixtures.url(Self.golden))
        }
        let (known, found) = (sections[section, default: ""].split(separator: "\n"), text.split(separator: "\n"))
        for (known, found) in zip(known, found) { #expect(known == found) }
        #expect(known.count == found.count)
    }

    private static func sections() throws -> [String: String] {
        guard let content = try? Fixtures.data(golden) else { return [:] }
        let parts = String(decoding: content, as: UTF8.self).components(separatedBy: "\n# ").dropFirst()
        return Dictionary(
            uniqueKeysWithValues: parts.map { part in
                let end = part.firstIndex(of: "\n") ?? part.endIndex
                return (String(part[..<end]), String(part[end...].dropFirst()))
            })
    }

    /// Replaces all that differs between two runs or two machines.
    private static func normalized(_ text: String) -> String {
        text.replacing(/(127\.0\.0\.1|localhost):[0-9]+/) { "\($0.1):PORT" }
            .replacing(/[0-9]+(\.[0-9]+)? m?s\b/, with: "TIME")
            .replacing(/[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT/, with: "DATE")
            .replacing(/\(“[^”]*”\)/, with: "(“…”)")
    }
}

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
