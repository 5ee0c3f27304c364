import Decorum
import DecorumTestSupport
import HTTPTypes
import Testing

/// RFC 9651, sections 3.2 and 4.2.2.
@Suite struct StructuredDictionaryTests {
    @Test(arguments: try Fixtures.rows("tables/structured-fields/dictionaries.json", of: CanonicalFieldRow.self))
    func `A dictionary is read and written canonically`(row: CanonicalFieldRow) throws {
        let dictionary = try StructuredDictionary(parsing: row.text)

        #expect(try dictionary.serialized() == row.canonical)
        #expect(try StructuredDictionary(parsing: row.canonical) == dictionary)
    }

    @Test(arguments: try Fixtures.rows("tables/structured-fields/invalid-dictionaries.json", of: InvalidFieldRow.self))
    func `An invalid dictionary is refused, with the offset of the first invalid byte`(row: InvalidFieldRow) {
        let error = #expect(throws: StructuredFieldError.self) { try StructuredDictionary(parsing: row.text) }
        #expect(error?.offset == row.offset)
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
