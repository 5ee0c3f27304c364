import Decorum
import HTTPTypes
import Testing

/// RFC 9651, sections 3.2 and 4.2.2.
@Suite struct StructuredDictionaryTests {
    @Test(
        arguments: [
            ("", ""), (#"en="Applepie", da=:w4ZibGV0w6ZydGUK:"#, #"en="Applepie", da=:w4ZibGV0w6ZydGUK:"#),
            ("a=?0, b, c; foo=bar", "a=?0, b, c;foo=bar"),
            ("rating=1.5, feelings=(joy sadness)", "rating=1.5, feelings=(joy sadness)"),
            ("a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid", "a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid"), ("a=?1", "a"),
            ("a=?1;b=?1", "a;b"), ("foo=1;bar=baz;bar=2", "foo=1;bar=2"), ("a=1,b=2\t,\tc", "a=1, b=2, c"),
            ("*=1", "*=1"),
            ("a=1, b=2, a=3", "a=3, b=2"), ("a=1;x, b, a", "a, b"), ("a-._*9=()", "a-._*9=()"), (" a ", "a"),
        ] as [(String, String)])
    func `A dictionary is read and written canonically`(text: String, canonical: String) throws {
        let dictionary = try StructuredDictionary(parsing: text)

        #expect(try dictionary.serialized() == canonical)
        #expect(try StructuredDictionary(parsing: canonical) == dictionary)
    }

    @Test(
        arguments: [
            (",", 0), ("a=1,", 4), ("a=1, ", 5), ("a=1,,b", 4), ("a=", 2), ("a= 1", 2), ("a =1", 2), ("A=1", 0),
            ("1=1", 0),
            ("-a=1", 0), ("_a", 0), ("aB=1", 1), ("=1", 0), ("a=1 b=2", 4), ("a;b=", 4), ("a=(1", 4), ("é=1", 0),
            ("\"a\"=1", 0), ("a==1", 2), ("a=1;;b", 4), ("a,b=", 4), ("\ta", 0), ("a/b", 1),
        ] as [(String, Int)])
    func `An invalid dictionary is refused, with the offset of the first invalid byte`(text: String, offset: Int) {
        let error = #expect(throws: StructuredFieldError.self) { try StructuredDictionary(parsing: text) }
        #expect(error?.offset == offset)
    }

    @Test func `All field lines of a name make one dictionary, whose last member of a key counts`() throws {
        var fields: HTTPFields = [.priority: "u=1"]
        fields.append(HTTPField(name: .priority, value: "i, u=5"))

        let priority = try StructuredDictionary(.priority, in: fields)

        #expect(priority.keys == ["u", "i"])
        #expect(priority["u"]?.item?.value.integer == 5)
        #expect(try StructuredDictionary(.accept, in: fields).isEmpty)
    }

    /// RFC 9421, section 2.5: the signature base has the parameters byte for byte, as a separate member.
    @Test func `The parameters of a signature are written byte for byte`() throws {
        let text = #"sig1=("@method" "@authority" "content-digest";req "date";sf);created=1618884473;keyid="test-key""#

        let input = try StructuredDictionary(parsing: text)

        #expect(try input["sig1"]?.serialized() == String(text.dropFirst(5)))
        #expect(try input["sig1"]?.innerList?.serialized() == String(text.dropFirst(5)))
        #expect(try input["sig1"]?.parameters.serialized() == #";created=1618884473;keyid="test-key""#)
        #expect(try input["sig1"]?.innerList?.items[2].serialized() == #""content-digest";req"#)
        #expect(try StructuredMember(true, parameters: ["a": 1]).serialized() == "?1;a=1")
    }
}
