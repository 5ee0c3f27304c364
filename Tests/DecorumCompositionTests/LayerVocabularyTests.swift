import Decorum
import Foundation
import Testing

/// Each part of a layer's description serves a rule or the description of a stack, and each hazard has a test and a line in
/// the documentation.
@Suite struct LayerVocabularyTests {
    private static let composition = Result { try SourceText.all(below: "Sources/Decorum/Composition") }

    @Test func `Each fact and each role is used by the check`() throws {
        let layer = try SourceText.file("Sources/Decorum/Layer.swift")
        let names = layer.names(after: "public static let ") + layer.names(after: "package static let ")
        let composition = try Self.composition.get()
        // A layer without a role of its own has this one, and no rule about its role.
        for name in names where name != "other" {
            #expect(composition.contains(word: name), "No rule uses \(name).")
        }
        #expect(names.count > 40)
    }

    @Test func `Each hazard has a test that shows its harm, and a line in the documentation`() throws {
        let rules = try SourceText.file("Sources/Decorum/Composition/CompositionRules.swift").text
        let hazards = Set(rules.matches(of: /"([a-z][A-Za-z]+)",/).map { String($0.1) })
        #expect(hazards.count == 64)
        let tests = try SourceText.all(below: "Tests/DecorumCompositionTests/Hazards")
        let page = try SourceText.file("Sources/Decorum/Decorum.docc/composing-a-stack.md")
        for hazard in hazards {
            #expect(tests.contains("of: \"\(hazard)\","), "\(hazard)")
            #expect(page.contains("| `\(hazard)` |"), "\(hazard)")
        }
    }
}

/// The text of sources of this package.
struct SourceText {
    let text: String

    static func file(_ path: String) throws -> SourceText {
        SourceText(text: try String(contentsOf: root.appending(path: path), encoding: .utf8))
    }

    static func all(below path: String) throws -> SourceText {
        let folder = root.appending(path: path)
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        return SourceText(text: try files.sorted().map { try file(path + "/" + $0).text }.joined(separator: "\n"))
    }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The names that follow a text.
    func names(after prefix: String) -> [String] {
        text.ranges(of: prefix).map { range in
            String(text[range.upperBound...].prefix { $0.isLetter || $0.isNumber })
        }
    }

    func contains(_ part: String) -> Bool { text.contains(part) }

    /// Whether a text is there, without a letter or digit before or after it.
    func contains(word: String) -> Bool {
        text.ranges(of: word).contains { range in
            let neighbours = [text[..<range.lowerBound].last, text[range.upperBound...].first]
            return neighbours.allSatisfy { neighbour in neighbour.map { !$0.isLetter && !$0.isNumber } ?? true }
        }
    }
}
