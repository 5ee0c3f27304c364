import Decorum
import HTTPTypes
import Testing

/// RFC 9651, sections 3.1 and 4.2.1.
@Suite struct StructuredListTests {
    @Test(
        arguments: [
            ("", ""), ("   ", ""), ("sugar, tea, rum", "sugar, tea, rum"), ("a,b", "a, b"), ("a ,\t b", "a, b"),
            (" a\t", "a"), ("a  ", "a"), ("a, a", "a, a"),
            ("1, 2.50, \"x\", :aA:, ?0, @5, %\"%41\"", "1, 2.5, \"x\", :aA==:, ?0, @5, %\"A\""),
            (#"("foo" "bar"), ("baz"), ("bat" "one"), ()"#, #"("foo" "bar"), ("baz"), ("bat" "one"), ()"#),
            (#"("foo"; a=1;b=2);lvl=5, ("bar" "baz");lvl=1"#, #"("foo";a=1;b=2);lvl=5, ("bar" "baz");lvl=1"#),
            ("(  1   2  )", "(1 2)"),
            ("abc;a=1;b=2; cde_456, (ghi;jk=4 l);q=\"9\";r=w", "abc;a=1;b=2;cde_456, (ghi;jk=4 l);q=\"9\";r=w"),
            ("a;b=?1", "a;b"), ("a;b=?0", "a;b=?0"), ("a;b;c;b=2", "a;b=2;c"), ("(a;b)", "(a;b)"),
            ("a;   b=1", "a;b=1"),
            ("a;*-._9=1", "a;*-._9=1"), ("?1", "?1"),
        ] as [(String, String)])
    func `A list is read and written canonically`(text: String, canonical: String) throws {
        let list = try StructuredList(parsing: text)

        #expect(try list.serialized() == canonical)
        #expect(try StructuredList(parsing: canonical) == list)
    }

    @Test(
        arguments: [
            (",", 0), ("a,", 2), ("a, ", 3), ("a,,b", 2), (",a", 0), ("a b", 2), ("a;", 2), ("a;=1", 2), ("a ;b", 2),
            ("a; B", 3), ("a;b =1", 4), ("a;b= 1", 4), ("a;b=", 4), ("a;b=(1)", 4), ("a;1", 2), ("a;\tb", 2), ("(", 1),
            ("(a", 2),
            ("(a,b)", 2), ("(a\tb)", 2), ("(a(b))", 2), ("((a))", 1), ("(a)b", 3), ("(a))", 3), (")", 0),
            ("(\"a\"\"b\")", 4),
            ("(a;b", 4), ("( ", 2), ("a\n", 1), ("\u{A0}a", 0), ("a=1", 1), ("(a ;b)", 3), ("a,\0", 2),
        ] as [(String, Int)])
    func `An invalid list is refused, with the offset of the first invalid byte`(text: String, offset: Int) {
        let error = #expect(throws: StructuredFieldError.self) { try StructuredList(parsing: text) }
        #expect(error?.offset == offset)
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
