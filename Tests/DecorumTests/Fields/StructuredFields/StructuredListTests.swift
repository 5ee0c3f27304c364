import Decorum
import DecorumTestSupport
import HTTPTypes
import Testing

/// RFC 9651, sections 3.1 and 4.2.1.
@Suite struct StructuredListTests {
    @Test(arguments: try Fixtures.rows("tables/structured-fields/lists.json", of: CanonicalFieldRow.self))
    func `A list is read and written canonically`(row: CanonicalFieldRow) throws {
        let list = try StructuredList(parsing: row.text)

        #expect(try list.serialized() == row.canonical)
        #expect(try StructuredList(parsing: row.canonical) == list)
    }

    @Test(arguments: try Fixtures.rows("tables/structured-fields/invalid-lists.json", of: InvalidFieldRow.self))
    func `An invalid list is refused, with the offset of the first invalid byte`(row: InvalidFieldRow) {
        let error = #expect(throws: StructuredFieldError.self) { try StructuredList(parsing: row.text) }
        #expect(error?.offset == row.offset)
    }

    @Test func `Values, parameters and inner lists are distinguished`() throws {
        let list = try StructuredList(parsing: #"a;q=0.5, ("b";c 2);d"#)

        let word = StructuredMember(.token("a"), parameters: ["q": 0.5])
        let items = [StructuredItem("b", parameters: ["c": true]), StructuredItem(2)]
        #expect(list == [word, StructuredMember(items, parameters: ["d": true])])
        #expect(list.members.first?.item?.value.token == "a")
        #expect(list.members.first?.innerList == nil)
        #expect(list.members.last?.innerList?.items.count == 2)
        #expect(list.members.last?.item == nil)
        #expect(list.members.map(\.parameters) == [["q": 0.5], ["d": true]])
    }

    @Test func `All field lines of a name make one list, and a missing field an empty one`() throws {
        var fields: HTTPFields = [.accept: "a"]
        fields.append(HTTPField(name: .acceptEncoding, value: "b"))
        fields.append(HTTPField(name: .accept, value: "c, d"))

        #expect(try StructuredList(.accept, in: fields).serialized() == "a, c, d")
        #expect(try StructuredList(.range, in: fields) == [])
    }

    @Test func `An empty field line makes the field invalid`() {
        var fields: HTTPFields = [.accept: "a"]
        fields.append(HTTPField(name: .accept, value: ""))

        #expect(throws: StructuredFieldError.self) { try StructuredList(.accept, in: fields) }
    }

    @Test func `An item takes one field line, or the field is missing`() throws {
        var fields: HTTPFields = [.contentType: "text/html;charset=utf-8"]
        #expect(try StructuredItem(.contentType, in: fields)?.parameters["charset"]?.token == "utf-8")
        #expect(try StructuredItem(.accept, in: fields) == nil)

        fields.append(HTTPField(name: .contentType, value: "a"))
        #expect(throws: StructuredFieldError.self) { try StructuredItem(.contentType, in: fields) }
    }
}
