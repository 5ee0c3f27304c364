import Decorum
import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

/// RFC 9651: reading and writing.
@Suite struct StructuredFieldTests {
    /// The text of an item, and the parts of its value that the kind of the item has.
    private struct ItemRow: Decodable {
        let text: String
        let canonical: String?
        let number: Int64?
        let thousandths: Int64?
        let seconds: Int?
        let content: String?

        func value(of kind: String) throws -> StructuredValue {
            switch kind {
            case "integers": .integer(try #require(number))
            case "decimals": .decimal(thousandths: try #require(thousandths))
            case "dates": .date(Date(timeIntervalSince1970: Double(try #require(seconds))))
            case "strings": .string(try #require(content))
            case "byte-sequences": .byteSequence(Data(try #require(content).utf8))
            default: .displayString(try #require(content))
            }
        }
    }

    @Test(arguments: ["integers", "decimals", "dates", "strings", "byte-sequences", "display-strings"])
    func `An item is read, and written canonically`(kind: String) throws {
        for row in try Self.rows(kind, of: ItemRow.self) {
            try expect(row.text, is: row.value(of: kind), written: row.canonical ?? row.text)
        }
    }

    @Test func `A token is written as it is, and a Boolean as a digit`() throws {
        for text in try Self.rows("tokens", of: String.self) { try expect(text, is: .token(text), written: text) }
        for (text, isTrue) in [("?1", true), ("?0", false)] {
            try expect(text, is: .boolean(isTrue), written: text)
        }
    }

    private func expect(_ text: String, is value: StructuredValue, written canonical: String) throws {
        let item = try StructuredItem(parsing: text)

        #expect(item.value == value)
        #expect(item.parameters.isEmpty)
        #expect(try item.serialized() == canonical)
    }

    private static func rows<Row: Decodable>(_ kind: String, of type: Row.Type) throws -> [Row] {
        try Fixtures.rows("tables/structured-fields/\(kind).json", of: type)
    }

    @Test func `A list and a dictionary are read, and written canonically`() throws {
        for row in try Self.rows("lists", of: CanonicalFieldRow.self) {
            let list = try StructuredList(parsing: row.text)
            #expect(try list.serialized() == row.canonical)
            #expect(try StructuredList(parsing: row.canonical) == list)
        }
        for row in try Self.rows("dictionaries", of: CanonicalFieldRow.self) {
            let dictionary = try StructuredDictionary(parsing: row.text)
            #expect(try dictionary.serialized() == row.canonical)
            #expect(try StructuredDictionary(parsing: row.canonical) == dictionary)
        }
    }

    @Test(arguments: ["items", "lists", "dictionaries"])
    func `An invalid field is refused, with the offset of the first invalid byte`(kind: String) throws {
        for row in try Self.rows("invalid-\(kind)", of: InvalidFieldRow.self) {
            let error = #expect(throws: StructuredFieldError.self) {
                switch kind {
                case "items": _ = try StructuredItem(parsing: row.text)
                case "lists": _ = try StructuredList(parsing: row.text)
                default: _ = try StructuredDictionary(parsing: row.text)
                }
            }
            #expect(error?.offset == row.offset, "\(row.text)")
        }
    }

    @Test func `Values, parameters and inner lists are distinguished`() throws {
        let list = try StructuredList(parsing: #"a;q=0.5, ("b";c 2);d"#)

        let word = StructuredMember(.token("a"), parameters: ["q": 0.5])
        let items = [StructuredItem("b", parameters: ["c": true]), StructuredItem(2)]
        #expect(list == [word, StructuredMember(items, parameters: ["d": true])])
        #expect(list.members.first?.item?.value.token == "a")
        #expect(list.members.first?.innerList == nil)
        #expect(list.members.last?.innerList?.count == 2)
        #expect(list.members.last?.item == nil)
        #expect(list.members.map(\.parameters) == [["q": 0.5], ["d": true]])
    }

    @Test func `All field lines of a name make one list, and a missing field an empty one`() throws {
        var fields: HTTPFields = [.accept: "a"]
        fields.append(HTTPField(name: .acceptEncoding, value: "b"))
        fields.append(HTTPField(name: .accept, value: "c, d"))

        #expect(try StructuredList(.accept, in: fields).serialized() == "a, c, d")
        #expect(try StructuredList(.range, in: fields) == [])
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
        #expect(try input["sig1"]?.parameters.serialized() == #";created=1618884473;keyid="test-key""#)
        #expect(try input["sig1"]?.innerList?[2].serialized() == #""content-digest";req"#)
        #expect(try StructuredMember(true, parameters: ["a": 1]).serialized() == "?1;a=1")
    }

    @Test func `Keys keep their places when values are replaced, and lose them when removed`() {
        var map: StructuredParameters = ["b": 1, "a": 2, "c": 3]
        map["b"] = "x"
        map["d"] = false
        map["a"] = nil
        map["missing"] = nil

        #expect(map.keys == ["b", "c", "d"])
        #expect(map == ["b": "x", "c": 3, "d": false])
        #expect(map.map(\.value) == ["x", 3, false])
        #expect(map["a"] == nil)
        #expect(map.count == 3)
    }

    @Test(arguments: [0, 1, 7, 8, 9, 10, 11, 40]) func `Few keys and many behave the same`(count: Int) {
        var map = StructuredParameters()
        for number in 0..<count { map["k\(number)"] = .integer(Int64(number)) }
        for number in stride(from: 0, to: count, by: 2) { map["k\(number)"] = .integer(Int64(-number)) }
        for number in stride(from: 0, to: count, by: 3) { map["k\(number)"] = nil }
        map["k0"] = "last"

        let left = (0..<count).filter { !$0.isMultiple(of: 3) }
        #expect(map.keys == left.map { "k\($0)" } + ["k0"])
        for number in left {
            #expect(map["k\(number)"] == .integer(Int64(number.isMultiple(of: 2) ? -number : number)))
        }
        #expect(map["k0"] == "last")
        #expect(map["k3"] == nil)
    }

    @Test(arguments: [
        (0.0015, "0.002"), (0.0025, "0.002"), (-0.0015, "-0.002"), (-0.0025, "-0.002"), (9.9995, "10.0"), (0, "0.0"),
        (-0.0, "0.0"), (-0.0004, "0.0"), (1, "1.0"), (0.1, "0.1"), (0.01, "0.01"), (0.101, "0.101"), (1.23456, "1.235"),
        (123_456_789_012.345, "123456789012.345"), (999_999_999_999.999, "999999999999.999"),
    ]) func `A number is rounded to three decimal places, and halves to even`(value: Double, text: String) throws {
        #expect(try StructuredItem(.decimal(value)).serialized() == text)
    }

    @Test(
        arguments: [
            .decimal(1e12), .decimal(-1e12), .decimal(999_999_999_999.9996), .decimal(1e300), .decimal(.infinity),
            .decimal(-.infinity), .decimal(.nan), .decimal(.greatestFiniteMagnitude),
            .integer(1_000_000_000_000_000), .integer(-1_000_000_000_000_000), .integer(.max), .integer(.min),
            .decimal(thousandths: .min), .decimal(thousandths: .max),
            .decimal(thousandths: 1_000_000_000_000_000), .string("ü"), .string("\n"),
            .string("\u{7F}"), .string("a\r\nInjected: 1"), .token(""), .token("a b"), .token("1a"), .token("a,b"),
            .token("é"), .token("a\"b"), .token("a\r\nb"), .token("a;b"), .token("a(b)"), .token("a\\"),
            .token("@a"), .date(Date(timeIntervalSince1970: 1e15)), .date(Date(timeIntervalSince1970: -1e15)),
            .date(Date(timeIntervalSince1970: .infinity)), .date(Date(timeIntervalSince1970: 1e300)),
        ] as [StructuredValue]) func `An invalid value is not written`(value: StructuredValue)
    {
        #expect(throws: StructuredFieldError.self) { try StructuredItem(value).serialized() }
        #expect(throws: StructuredFieldError.self) { try (["a": value] as StructuredParameters).serialized() }
        #expect(throws: StructuredFieldError.self) { try StructuredMember([StructuredItem(value)]).serialized() }
        #expect(throws: StructuredFieldError.self) { try ([StructuredMember(value)] as StructuredList).serialized() }
        // Not an argument: Foundation's description of such a date ends the process.
        let noDate = StructuredItem(.date(Date(timeIntervalSince1970: .nan)))
        #expect(throws: StructuredFieldError.self) { try noDate.serialized() }
    }

    @Test(arguments: ["", "A", "aB", "1", "-", "_a", ".a", "a b", "a=", "é", "a\u{301}", "a\r\nb", "a/b", "a;b"])
    func `An invalid key is not written`(key: String) {
        let member = #expect(throws: StructuredFieldError.self) {
            try (["ok": StructuredMember(1), key: StructuredMember(1)] as StructuredDictionary).serialized()
        }
        let parameter = #expect(throws: StructuredFieldError.self) {
            try StructuredItem(1, parameters: [key: 1]).serialized()
        }

        #expect(member?.offset == 6)
        #expect(parameter?.offset == 2)
    }

    @Test func `An error names the cause and the place, and quotes nothing of the field`() {
        let error = #expect(throws: StructuredFieldError.self) { try StructuredList(parsing: "secret secret") }

        #expect(error?.description == "The structured field is invalid at byte 7: a comma is expected.")
    }

    @Test(arguments: [1024, 100_000]) func `Members, parameters and items are many, without a linear search`(
        count: Int
    ) throws {
        let keys = (0..<count).map { "k\($0)=\($0)" }
        let items = Array(repeating: "a", count: count)
        let list = [
            items.joined(separator: ", "), "(" + items.joined(separator: " ") + ")", "a;" + keys.joined(separator: ";"),
        ]
        for text in list { #expect(try StructuredList(parsing: text).serialized() == text) }

        let text = keys.joined(separator: ", ")
        let dictionary = try StructuredDictionary(parsing: text + ", " + text)
        #expect(dictionary.count == count)
        #expect(dictionary["k\(count - 1)"]?.item?.value.integer == Int64(count - 1))
        #expect(try dictionary.serialized() == text)
    }

    @Test(arguments: [64, 1024, 100_000]) func `Keys and values are long`(count: Int) throws {
        let letters = String(repeating: "a", count: count)
        let escapes = String(repeating: #"\""#, count: count)
        let bytes = Data(repeating: 7, count: count).base64EncodedString()
        let display = String(repeating: "%c3%bc", count: count)
        let text = #"\#(letters)=\#(letters), b="\#(escapes)", c=:\#(bytes):, d=%"\#(display)""#

        let dictionary = try StructuredDictionary(parsing: text)

        #expect(dictionary["b"]?.item?.value.string?.utf8.count == count)
        #expect(dictionary["c"]?.item?.value.byteSequence?.count == count)
        #expect(dictionary["d"]?.item?.value.displayString?.utf8.count == 2 * count)
        #expect(try dictionary.serialized() == text)
    }
}

/// A text that is valid, and the one canonical text of its value.
struct CanonicalFieldRow: Decodable, Sendable {
    let text: String
    let canonical: String
}

/// A text that is invalid, and the offset of its first invalid byte.
struct InvalidFieldRow: Decodable, Sendable {
    let text: String
    let offset: Int
}
