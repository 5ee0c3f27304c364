import Foundation
import Testing

/// Tests that this target compiles every listing of the documentation.
@Suite struct ListingTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test func `Every listing of the documentation is in a file that is compiled`() throws {
        let compiled = try Self.files(below: "Tests", named: "Listings.swift")
            .map { try Self.code(String(contentsOf: $0, encoding: .utf8).split(separator: "\n")) }
        let documents =
            try Self.files(below: "", named: "README.md") + Self.files(below: "Sources", named: ".md")
            + Self.files(below: "Sources", named: ".swift")

        var count = 0
        for document in documents {
            for listing in try Self.listings(of: document) {
                count += 1
                let isCompiled = compiled.contains { Self.holds($0, listing) }
                let text = listing.joined(separator: "\n")
                #expect(isCompiled, "not compiled, of \(document.lastPathComponent):\n\(text)")
            }
        }
        #expect(count > 10)
    }

    /// Returns whether a file has the imports of a listing, and its other lines in sequence.
    private static func holds(_ file: [String], _ listing: [String]) -> Bool {
        let imports = listing.filter { $0.hasPrefix("import ") }
        return imports.allSatisfy(file.contains) && file.contains(listing.filter { !$0.hasPrefix("import ") })
    }

    private static func files(below folder: String, named suffix: String) throws -> [URL] {
        let folder = folder.isEmpty ? root : root.appending(path: folder)
        if suffix == "README.md" { return [folder.appending(path: suffix)] }
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        return paths.filter { $0.hasSuffix(suffix) }.sorted().map { folder.appending(path: $0) }
    }

    /// The lines of code without blank ones and indentation, which differ between a page and a test.
    private static func code(_ lines: some Sequence<some StringProtocol>) -> [String] {
        lines.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    private static func listings(of document: URL) throws -> [[String]] {
        var lines = try String(contentsOf: document, encoding: .utf8).split(separator: "\n")
        if document.pathExtension == "swift" {
            lines = lines.compactMap { line in
                guard let slashes = line.firstRange(of: "///") else { return nil }
                return line[..<slashes.lowerBound].allSatisfy(\.isWhitespace) ? line[slashes.upperBound...] : nil
            }
        }
        let parts = lines.split { $0.trimmingCharacters(in: .whitespaces).hasPrefix("```swift") }
        return parts.dropFirst().map { listing in
            code(listing.prefix { !$0.trimmingCharacters(in: .whitespaces).hasPrefix("```") })
        }
    }
}
