import Decorum
import DecorumArchive
import DecorumTestSupport
import DecorumTesting
import Foundation
import Testing

/// The limits of the reader of JSON, and its state behind an error.
@Suite struct JSONScannerTests {
    /// The ways to consume a value, which share the limits.
    enum Way: CaseIterable {
        case skipping, reading

        func consume(_ scanner: inout JSONScanner) throws {
            switch self {
            case .skipping: _ = try scanner.skipValue()
            case .reading:
                guard try scanner.peek() == UInt8(ascii: "[") else {
                    _ = try scanner.skipValue()
                    return
                }
                try scanner.array { try consume(&$0) }
            }
        }
    }

    private static func nested(_ depth: Int) -> [UInt8] {
        Array((String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)).utf8)
    }

    @Test(arguments: Way.allCases) func `The deepest nesting is read, and one more is refused`(way: Way) throws {
        var scanner = JSONScanner(Self.nested(JSONScanner.depthLimit))
        try way.consume(&scanner)
        try scanner.expectEnd()
        #expect(scanner.count == JSONScanner.depthLimit + 1)
        var deeper = JSONScanner(Self.nested(JSONScanner.depthLimit + 1))
        let error = #expect(throws: JSONSyntaxError.self) { try way.consume(&deeper) }
        #expect(error?.offset == JSONScanner.depthLimit + 1)
    }

    @Test func `The nesting around a value that is skipped counts`() throws {
        for (inner, isRead) in [(JSONScanner.depthLimit - 2, true), (JSONScanner.depthLimit - 1, false)] {
            var scanner = JSONScanner(Self.nested(inner + 2))
            var isDone = false
            func read() throws {
                try scanner.array { try $0.array { _ = try $0.skipValue() } }
                isDone = true
            }
            if isRead { try read() } else { #expect(throws: JSONSyntaxError.self) { try read() } }
            #expect(isDone == isRead)
        }
    }

    @Test(arguments: Way.allCases) func `The values are counted up to the limit`(way: Way) throws {
        let bytes = Array("[1,[2,3],{\"a\":4}]".utf8)
        var scanner = JSONScanner(bytes, countLimit: 7)
        try way.consume(&scanner)
        #expect(scanner.count == 7)
        var limited = JSONScanner(bytes, countLimit: 6)
        let error = #expect(throws: JSONSyntaxError.self) { try way.consume(&limited) }
        #expect(error.map { bytes[$0.offset] } == UInt8(ascii: "4"))
        #expect(limited.count == 7)
    }

    @Test func `Behind an error, the reader stands where it was found`() throws {
        var scanner = JSONScanner(Array("[1, x]".utf8))
        let error = #expect(throws: JSONSyntaxError.self) { try scanner.skipValue() }
        #expect(error?.offset == 4)
        #expect(scanner.position == 4)
        #expect(scanner.count == 3)
    }
}

/// Input that no tool writes: each reader returns or throws its own error, and all that read JSON agree about it.
@Suite struct ReaderFuzzTests {
    static let documents = [
        #"{"a": [1, -0.5e+3, "x\u00e9\ud83d\ude00\n", true, null, {"b": {}}], "": [[]], "password": "s3cr3t"}"#,
        #"[{"scope": "https://a.example", "path": "/", "rawHeaders": ["a", "b"], "response": ["1f8b"]}]"#,
        #"{"log": {"creator": {"name": "x"}, "entries": [{"request": {"url": "x", "headers": [{"name": "a", "value": "b"}]}}]}}"#,
    ]

    @Test(arguments: documents)
    func `The readers of JSON agree on each damaged document`(seed: String) {
        var dice = SeededDice(seed: UInt64(seed.utf8.count))
        let pieces = Array(#"{}[]:,"\u0eE+-.truefalsn1 9/"#.utf8) + [0, 0x1F, 0x7F, 0xC3, 0xFF]
        var valid = 0
        for round in 0..<4000 {
            var bytes = Array(seed.utf8)
            if round > 0 {
                for _ in 0..<Int.random(in: 1...3, using: &dice) { damage(&bytes, pieces, &dice) }
            }
            valid += check(bytes) ? 1 : 0
        }
        #expect(valid > 40)
    }

    /// Compares the readers, and returns whether the document is JSON.
    private func check(_ bytes: [UInt8]) -> Bool {
        var scanner = JSONScanner(bytes)
        let range = try? scanner.skipValue()
        let isJSON = range != nil && (try? scanner.expectEnd()) != nil
        let isText = String(validating: bytes, as: UTF8.self) != nil
        let value = try? JSONValue(parsing: bytes)
        let secrets = JSONSecrets(bytes, rules: Redaction.standard.rules)

        // A string that is not UTF-8 is skipped, and not read.
        #expect((value != nil) == (isJSON && isText))
        if isJSON { #expect(secrets.fault == nil) }
        #expect(secrets.places.allSatisfy { bytes.indices.contains($0.range.lowerBound) || $0.range.isEmpty })
        if let value, let again = try? JSONValue(parsing: value.document()) { #expect(again == value) }
        guard isJSON else { return false }
        // Skipping counts as many values as reading does, so that a limit stops both at the same value.
        var counted = JSONScanner(bytes, countLimit: scanner.count)
        #expect((try? counted.skipValue()) != nil)
        var refused = JSONScanner(bytes, countLimit: scanner.count - 1)
        #expect((try? refused.skipValue()) == nil)
        if isText {
            #expect((try? JSONValue(parsing: bytes, countLimit: scanner.count)) != nil)
            #expect((try? JSONValue(parsing: bytes, countLimit: scanner.count - 1)) == nil)
        }
        return true
    }

    private func damage(_ bytes: inout [UInt8], _ pieces: [UInt8], _ dice: inout SeededDice) {
        guard let index = bytes.indices.randomElement(using: &dice) else { return }
        switch Int.random(in: 0..<5, using: &dice) {
        case 0: bytes[index] = pieces.randomElement(using: &dice) ?? 0
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(pieces.randomElement(using: &dice) ?? 0, at: index)
        case 3: bytes = Array(bytes[..<index])
        default: bytes.insert(contentsOf: bytes[..<index], at: index)
        }
    }

    @Test(arguments: [
        ("[", "]"), (#"{"a":"#, "}"), (#"[{"":"#, "}]"), ("[0,[", "]]"),
    ])
    func `Deep nesting is refused by each reader, and not by the stack`(open: String, close: String) {
        let count = 100_000
        let document = Data((String(repeating: open, count: count) + "1" + String(repeating: close, count: count)).utf8)
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: Array(document)) }
        #expect(throws: CassetteImportError.self) { try ImportedCassette(document, named: "x") }
        #expect(JSONSecrets(Array(document), rules: Redaction.standard.rules).fault != nil)
    }
}

/// A seeded generator in the form that the standard library draws from.
struct SeededDice: RandomNumberGenerator {
    private let generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    func next() -> UInt64 { generator.next() }
}
