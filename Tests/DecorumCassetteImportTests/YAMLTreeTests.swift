#if CassetteImport
import Decorum
import DecorumTesting
import Foundation
import Testing

@testable import DecorumCassetteImport

@Suite(.timeLimit(.minutes(3))) struct YAMLTreeTests {
    @Test(arguments: [
        ("a: b", "b"), ("a: no", "no"), ("a: 1e3", "1e3"), ("a: ''", ""), ("a: ! 'text'", "text"),
        ("a: ! null", "null"),
        ("a: !!python/unicode null", "null"), ("a: !!str ~", "~"), ("a: !!python/unicode", ""),
        (#"a: "x\ty\u20ac\U0001F600\xE9""#, "x\ty€😀é"), ("\u{FEFF}a: b", "b"),
        ("a: |-\n  x\u{2028}  y\n", "x\u{2028}y"),
        ("b: &1 text\na: *1 # remark\n", "text"), ("b: &1 !binary |-\n  eA==\na: *1", "eA=="),
        ("&1 b: c\na: *1\n", "b"),
        ("? a\n: b\n", "b"), ("{? a : b}", "b"), ("c: &1 a\n*1 : b\n", "b"), ("a: &1 [b]\n? c\n: d\n", nil),
    ])
    func `A scalar is read as the recorder meant it`(document: String, expected: String?) throws {
        #expect(try tree(document)["a"]?.text == expected)
    }

    @Test(arguments: ["a:", "a: null", "a: ~", "{a: , b: c}", "{a}", "a: &x\nb: *x", "a: !!null", "a: !!null \"null\""])
    func `Nothing, a tilde and null are null`(document: String) throws {
        let member = try #require(try tree(document).members?.first)
        guard case ("a", .null) = (member.name, member.node.content) else { throw CocoaError(.coderInvalidValue) }
    }

    @Test func `Tags are labels, and an alias has the tag of what it stands for`() throws {
        let document = """
            a: !binary AAE=
            b: !!python/object/new:os.system
              args: [x]
            c: !<tag:yaml.org,2002:binary> AA==
            d: &1 !ruby/struct:VCR::Request {e: !binary AAE=}
            f: [*1, {g: *1}]
            """
        let root = try tree(document)

        #expect(
            root.members?.map(\.node.tag) == [
                "binary", "python/object/new:os.system", "binary", "ruby/struct:VCR::Request", nil,
            ])
        #expect(root["f"]?.first?["e"]?.isBinary == true)
        #expect(root.at(".f[1].g.e").line == 5)
    }

    @Test(arguments: [
        ("a: b\nc: [", 3, "node"), ("a: *x", 1, "alias"), ("a: b\n---\nc: d", 2, "document"),
        ("a: 1\na: 2", 1, "twice"),
        ("a: &x [1, *x]", 1, "alias"), ("? [a]\n: b", 1, "name"), ("a: \"\\ud83d\"", 1, "escape"),
        ("a:\n\tb: c", 2, "token"),
    ])
    func `YAML that no recorder writes is refused with its line`(document: String, line: Int, reason: String) {
        let error = #expect(throws: CassetteImportError.self) { try tree(document) }
        #expect(error?.line == line)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test func `Bytes that are not UTF-8 are refused with their line`() {
        var budget = ImportBudget()
        let error = #expect(throws: CassetteImportError.self) {
            try VCRFormat().tree(of: Array("a: b\nc: ".utf8) + [0xFF], within: &budget)
        }
        #expect(error?.line == 2)
    }

    /// Aliases of aliases, of which the last would stand for more than there are atoms.
    private static func laughs(_ first: String, _ width: Int, last: String = "", levels: Int = 200) -> String {
        var document = "a0: &a0 \(first)\n"
        for level in 1..<levels {
            let aliases = Array(repeating: "*a\(level - 1)", count: width + 1).joined(separator: ", ")
            document += "a\(level): &a\(level) [\(aliases)]\n"
        }
        return document + last
    }

    @Test(arguments: [
        (laughs("[lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]", 9), "too many values"),
        (laughs("'" + String(repeating: "x", count: 10_000) + "'", 7), "more than"),
        (laughs("[[[[x]]]]", 0, levels: 600), "deeply"),
        (laughs("[x]", 9, last: "*a199 : b\n"), "name"), (laughs("[x]", 9, last: "[*a199]: b\n"), "name"),
        (laughs("[x]", 9, last: "? *a199\n: b\n"), "name"), (laughs("[x]", 9, last: "? - *a199\n: b\n"), "name"),
        (laughs("[x]", 9, last: "? b: *a199\n: b\n"), "name"), (laughs("[x]", 9, last: "c: {{b: *a199}: b}\n"), "name"),
        (laughs("[x]", 9, last: "c: {?[*a199]: b}\n"), "name"), (laughs("[x]", 9, last: "c: {\"a\":*a199 :b}\n"), "it"),
        (laughs("[x]", 9, last: "?\n  - *a199\n: b\n"), "name"), (laughs("[x]", 9, last: "- ? &z !t [*a199]\n"), "it"),
    ])
    func `Few lines that stand for billions are refused at once`(document: String, reason: String) {
        let limits = ImportLimits(contentLength: 32 << 20, valueCount: 200_000)
        let error = #expect(throws: CassetteImportError.self) { try tree(document, within: limits) }
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test(arguments: ["- ", "[", "{a: ", "a:\n ", "? ", "- - - "])
    func `Deep nesting is refused`(opening: String) {
        var document = ""
        for level in 0..<20_000 where document.utf8.count < 400_000 {
            document += opening == "a:\n " ? "a:\n" + String(repeating: " ", count: level + 1) : opening
        }
        #expect(throws: CassetteImportError.self) { try tree(document) }
    }

    @Test(arguments: [("- a\n- b\n- c", 3), ("a: &x b\nc: *x", 1)])
    func `Values are counted as often as aliases repeat them`(document: String, line: Int) throws {
        let count = document.hasPrefix("-") ? 4 : 3
        var budget = ImportBudget(ImportLimits(valueCount: count))
        _ = try VCRFormat().tree(of: Array(document.utf8), within: &budget)
        #expect(budget.count == 0)
        budget = ImportBudget(ImportLimits(valueCount: count - 1))
        let error = #expect(throws: CassetteImportError.self) {
            try VCRFormat().tree(of: Array(document.utf8), within: &budget)
        }
        #expect(error?.line == line && error?.reason == "it has too many values")
    }

    private func tree(_ document: String, within limits: ImportLimits = .standard) throws -> StoredNode {
        var budget = ImportBudget(limits)
        return try VCRFormat().tree(of: Array(document.utf8), within: &budget)
    }
}
#endif
