import HTTPTypes
import Testing

@testable import Decorum

@Suite struct FieldListTests {
    @Test(
        arguments: [
            ("", []), (",", []), (" , ,", []), ("a", ["a"]), ("a,b", ["a", "b"]), (" a ,\tb ", ["a", "b"]),
            (#"a="x, y", b"#, [#"a="x, y""#, "b"]), (#"a="\", b", c"#, [#"a="\", b""#, "c"]),
            (#"a="x, b"#, [#"a="x"#, "b"]), (#"a="x"#, [#"a="x"#]), (#"a="x" , b"#, [#"a="x""#, "b"]),
            (#"a="x, b="y", c"#, [#"a="x"#, #"b="y""#, "c"]), (#"a="x, b="y, z""#, [#"a="x"#, #"b="y, z""#]),
            (#"a="x, b"y, c"#, [#"a="x"#, #"b"y"#, "c"]), (#"a/b;c="d, e";q=1, f"#, [#"a/b;c="d, e";q=1"#, "f"]),
            (#"W/"1,2", "3""#, [#"W/"1,2""#, #""3""#]), (#"a="x, b"", c"#, [#"a="x"#, #"b"""#, "c"]),
            (#"a="\"\", b", c"#, [#"a="\"\", b""#, "c"]), (#"a="x\", b"#, [#"a="x\""#, "b"]),
        ] as [(String, [String])]) func `A list is split at commas outside of quotes`(value: String, members: [String])
    {
        #expect(ListMembers(value).map(String.init) == members)
    }

    @Test func `Directives are read over all fields, in any letter case`() {
        var fields: HTTPFields = [.cacheControl: "Max-Age=60, No-Store"]
        fields.append(HTTPField(name: .cacheControl, value: #"private="a, b""#))
        let control = CacheControl(fields)
        #expect(control.contains("no-store"))
        #expect(control.contains("max-age"))
        #expect(control.contains("private"))
        #expect(!control.contains("b"))
    }

    @Test func `An unclosed quotation mark hides no directive, and takes no more time than others`() {
        for value in [
            #"private="a, no-store"#, #"max-age="10, no-store"#, #"max-age="10, no-store, private="set-cookie""#,
            #"a="b, no-store, c="d""#, #"a=", no-store, b="x"y"#, #"a="\", no-store"#, #""x, no-store, y"z"#,
        ] {
            #expect(CacheControl([.cacheControl: value]).contains("no-store"), "\(value)")
        }
        for value in [#"a="b, no-store""#, #"a="b, no-store" , c"#, #"a="\", no-store""#] {
            #expect(!CacheControl([.cacheControl: value]).contains("no-store"), "\(value)")
        }
        let escaped = String(repeating: #"\""#, count: 200_000)
        #expect(Array(ListMembers("\"\(escaped)\"x, \(escaped)")).count == 2)
        let hostile = "\"" + String(repeating: #"\","#, count: 20_000)
        #expect(Array(ListMembers(hostile)).count == 20_000)
    }

    @Test func `A directive after any text that closes no quoted string is seen`() {
        let generator = SeededGenerator(seed: 4)
        let alphabet = Array("ab=,;\\ \t\u{E9}")
        let text = {
            let length = Int(generator.next() % 12)
            return String((0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
        }
        for _ in 0..<20_000 {
            let before = text().replacing("\\", with: "")
            let unclosed = "\(before)=\"\(text()), no-store, \(text())"
            #expect(CacheControl([.cacheControl: unclosed]).contains("no-store"), "\(unclosed)")
            let reopened = "\(before)=\"\(text().replacing("\\", with: "")), no-store, x=\"y\""
            #expect(CacheControl([.cacheControl: reopened]).contains("no-store"), "\(reopened)")
        }
    }

    @Test func `Vary is read in any letter case, and a star is found at any place`() {
        #expect(Vary([.vary: "Accept, accept-LANGUAGE"]).names == [.accept, .acceptLanguage])
        #expect(!Vary([:]).isAny)
        #expect(Vary([.vary: "accept, *"]).isAny)
        #expect(Vary([.vary: "no token"]).isAny)
    }

    @Test func `Random values never crash and keep every byte that is not a separator`() {
        let generator = SeededGenerator(seed: 3)
        let alphabet = Array("ab=,;\"\\ \t\u{E9}")
        for _ in 0..<5000 {
            let length = Int(generator.next() % 30)
            let value = String((0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] })
            let kept = ListMembers(value).joined().filter { $0 == "a" }.count
            #expect(kept == value.filter { $0 == "a" }.count)
            _ = CacheControl([.cacheControl: value])
        }
    }
}
