#if YAMLOracle
import DecorumTestSupport
import Foundation
import Testing
import Yams

@testable import DecorumTesting

/// Compares the reader of YAML with Yams, which wraps libyaml.
///
/// Yams reads more than recorders write, so only documents that are read here are compared.
@Suite struct YAMLOracleTests {
    static let files = ForeignCassettes.files.filter { file in
        guard !file.isRefused, let bytes = try? Data(contentsOf: file.url) else { return false }
        return bytes.first.map { $0 != UInt8(ascii: "{") && $0 != UInt8(ascii: "[") && $0 < 0x7F && $0 != 0x50 }
            ?? false
    }

    @Test(arguments: files)
    func `A cassette is the tree that Yams reads`(file: ForeignCassettes.File) throws {
        let bytes = Array(try Data(contentsOf: file.url))
        guard let text = String(validating: bytes, as: UTF8.self), !Self.isCompressed(bytes) else { return }

        let found = try YAMLReader.value(of: bytes).0
        let expected = try #require(try Yams.compose(yaml: text))

        #expect(Self.difference(found, expected, at: "$") == nil)
    }

    @Test(arguments: 0..<8)
    func `A damaged document that is read is the tree that Yams reads`(seed: Int) throws {
        var dice = SeededDice(seed: UInt64(seed))
        let seeds = ImportFuzzTests.seeds.filter { !$0.hasPrefix("{") && !$0.hasPrefix("[") } + Self.scalars
        let pieces = Array("{}[]:,-'\"|>&*!#? 1a\n".utf8)
        var compared = 0
        for _ in 0..<1500 {
            var bytes = Array((seeds.randomElement(using: &dice) ?? "").utf8)
            for _ in 0..<Int.random(in: 1...2, using: &dice) {
                let index = Int.random(in: 0..<max(bytes.count, 1), using: &dice)
                guard index < bytes.count else { break }
                switch Int.random(in: 0..<3, using: &dice) {
                case 0: bytes[index] = pieces.randomElement(using: &dice) ?? 0
                case 1: bytes.remove(at: index)
                default: bytes.insert(pieces.randomElement(using: &dice) ?? 0, at: index)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            // Yams refuses names that occur twice, which cassettes have.
            guard let found = try? YAMLReader.value(of: bytes).0, let expected = try? Yams.compose(yaml: text) else {
                continue
            }
            compared += 1
            let difference = Self.difference(found, expected, at: "$")
            #expect(difference == nil, "\(text.debugDescription)")
        }
        #expect(compared > 200)
    }

    private static let scalars = [
        "a: one\n  two\n\n  three\nb: 'x\n\n  y'\n", "a: |+\n  x\n   y\n\n\nb: >-\n  x\n  y\n\n   z\n  w\n",
        "- [a, {b: c, 'd': \"e\\x41\"}]\n- - x\n  - y: z\n    w:\n    - 1\n", "a: &x {b: [c]}\nd: *x\n? e\n: f\n",
    ]

    private static func isCompressed(_ bytes: [UInt8]) -> Bool { bytes.starts(with: [0x1F, 0x8B]) }

    /// The place of the first difference; nil if the trees are equal.
    private static func difference(_ found: StoredValue, _ expected: Node, at path: String) -> String? {
        switch (found.content, expected) {
        case (.null, .scalar(let scalar)):
            return ["", "~", "null", "Null", "NULL"].contains(scalar.string) ? nil : path
        case (.string(let text), .scalar(let scalar)), (.literal(let text), .scalar(let scalar)):
            return text.unicodeScalars.elementsEqual(scalar.string.unicodeScalars)
                ? nil : "\(path): \(text.debugDescription) and not \(scalar.string.debugDescription)"
        case (.list(let elements), .sequence(let sequence)):
            guard elements.count == sequence.count else { return path }
            for (index, pair) in zip(elements, sequence).enumerated() {
                if let place = difference(pair.0, pair.1, at: "\(path)[\(index)]") { return place }
            }
            return nil
        case (.map(let members), .mapping(let mapping)):
            guard members.count == mapping.count else { return path }
            for (member, pair) in zip(members, mapping) {
                guard case .scalar(let key) = pair.key,
                    key.string == member.name || key.string == "~" && member.name.isEmpty
                else { return "\(path), the name \(member.name)" }
                if let place = difference(member.value, pair.value, at: "\(path).\(member.name)") { return place }
            }
            return nil
        default: return path
        }
    }
}
#endif
