import Decorum
import Testing

@testable import DecorumTesting

/// The walk over JSON that was checked before finds the same values as the reader that checks it.
@Suite struct KnownJSONTests {
    static let values = [
        #"{}"#, #"[]"#, #""""#, #""a""#, #""\"""#, #""\\""#, #""\\\"}]""#, #""\u005c\u0022""#, "0", "-1.50e+3", "true",
        "null", #"[1,"]",{"a":"}"}]"#, #"{"a":{"b":[[],{}]},"c":"\\"}"#, "[ 1 , [ 2 ,\n{ } ] ]", #""Käse {[\"""#,
    ]
    static let blanks = ["", " ", "\n  \t"]

    @Test(arguments: values) func `Each value is found with its end`(value: String) throws {
        for blank in Self.blanks {
            let text = "\(blank){\(blank)\"name\\\"\"\(blank):\(blank)\(value)\(blank),\(blank)\"x\":1}\(blank)"
            let bytes = Array(text.utf8)
            var walk = KnownJSON(bytes, at: 0)
            var found: [(String, Range<Int>)] = []
            let (begins, ends): (Bool, Bool)
            begins = walk.skip(UInt8(ascii: "{"))
            repeat { found.append((walk.name(), walk.value())) } while walk.skip(UInt8(ascii: ","))
            ends = walk.skip(UInt8(ascii: "}"))
            #expect(begins && ends)
            #expect(walk.position == bytes.count)

            var expected: [(String, Range<Int>)] = []
            var scanner = JSONScanner(bytes)
            try scanner.object { name, scanner in expected.append((name, try scanner.skipValue())) }
            #expect(found.map(\.0) == expected.map(\.0))
            #expect(found.map(\.1) == expected.map(\.1), "\(text)")
        }
    }

    @Test(arguments: values) func `The tokens are joined without the blanks between them`(value: String) throws {
        let bytes = Array(value.utf8)
        var scanner = JSONScanner(bytes)
        var joined: [UInt8] = []
        while let token = try scanner.token() { joined += bytes[token] }
        #expect(JSONTokens(bytes, in: bytes.indices).joined() == joined)
    }
}
