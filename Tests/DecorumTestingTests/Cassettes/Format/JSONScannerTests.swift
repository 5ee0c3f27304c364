import Decorum
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
