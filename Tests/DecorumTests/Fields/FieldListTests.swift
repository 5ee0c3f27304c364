import HTTPTypes
import Testing

@testable import Decorum

@Suite struct FieldListTests {
    @Test(
        arguments: [
            ("", []), (",", []), (" , ,", []), ("a", ["a"]), ("a,b", ["a", "b"]), (" a ,\tb ", ["a", "b"]),
            (#"a="x, y", b"#, [#"a="x, y""#, "b"]), (#"a="\", b", c"#, [#"a="\", b""#, "c"]),
            (#"a="x, b"#, [#"a="x"#, "b"]), (#"a="x, b="y", c"#, [#"a="x, b="y""#, "c"]), (#"a="x"#, [#"a="x"#]),
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
        #expect(CacheControl([.cacheControl: #"private="a, no-store"#]).contains("no-store"))
        let hostile = "\"" + String(repeating: #"\","#, count: 20_000)
        #expect(Array(ListMembers(hostile)).count == 20_000)
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
