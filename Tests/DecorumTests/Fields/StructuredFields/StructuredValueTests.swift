import Decorum
import DecorumTestSupport
import Foundation
import Testing

/// RFC 9651, sections 4.1.4 to 4.1.11 and 4.2.4 to 4.2.10.
@Suite struct StructuredValueTests {
    struct IntegerRow: Decodable, Sendable {
        let text: String
        let number: Int64
        let canonical: String
    }

    struct DecimalRow: Decodable, Sendable {
        let text: String
        let thousandths: Int64
        let canonical: String
    }

    struct ContentRow: Decodable, Sendable {
        let text: String
        let content: String
        let canonical: String
    }

    struct PointInTime: Decodable, Sendable {
        let text: String
        let seconds: Int
    }

    @Test(arguments: try Fixtures.rows("tables/structured-fields/integers.json", of: IntegerRow.self))
    func `An integer has up to fifteen digits`(row: IntegerRow) throws {
        try expect(row.text, is: .integer(row.number), written: row.canonical)
    }

    @Test(arguments: try Fixtures.rows("tables/structured-fields/decimals.json", of: DecimalRow.self))
    func `A decimal has at most twelve and three digits`(row: DecimalRow) throws {
        try expect(row.text, is: .decimal(StructuredDecimal(thousandths: row.thousandths)), written: row.canonical)
    }

    @Test(arguments: try Fixtures.rows("tables/structured-fields/strings.json", of: ContentRow.self))
    func `A string is printable ASCII in quotation marks`(row: ContentRow) throws {
        try expect(row.text, is: .string(row.content), written: row.canonical)
    }

    @Test(arguments: try Fixtures.rows("tables/structured-fields/tokens.json", of: String.self))
    func `A token is written as it is`(text: String) throws {
        try expect(text, is: .token(text), written: text)
    }

    @Test(arguments: try Fixtures.rows("tables/structured-fields/byte-sequences.json", of: ContentRow.self))
    func `Bytes are in base64, of which padding may be missing`(row: ContentRow) throws {
        try expect(row.text, is: .byteSequence(Data(row.content.utf8)), written: row.canonical)
    }

    @Test(arguments: [("?1", true), ("?0", false)]) func `A Boolean is a digit`(text: String, isTrue: Bool) throws {
        try expect(text, is: .boolean(isTrue), written: text)
    }

    @Test(arguments: try Fixtures.rows("tables/structured-fields/dates.json", of: PointInTime.self))
    func `A date is a number of seconds, and all of its digits are kept`(row: PointInTime) throws {
        try expect(row.text, is: .date(Date(timeIntervalSince1970: Double(row.seconds))), written: row.text)
    }

    @Test(arguments: try Fixtures.rows("tables/structured-fields/display-strings.json", of: ContentRow.self))
    func `A display string may have any characters, escaped in lower case`(row: ContentRow) throws {
        try expect(row.text, is: .displayString(row.content), written: row.canonical)
    }

    @Test(arguments: try Fixtures.rows("tables/structured-fields/invalid-items.json", of: InvalidFieldRow.self))
    func `An invalid item is refused, with the offset of the first invalid byte`(row: InvalidFieldRow) {
        let error = #expect(throws: StructuredFieldError.self) { try StructuredItem(parsing: row.text) }
        #expect(error?.offset == row.offset)
    }

    private func expect(_ text: String, is value: StructuredValue, written canonical: String) throws {
        let item = try StructuredItem(parsing: text)

        #expect(item.value == value)
        #expect(item.parameters.isEmpty)
        #expect(try item.serialized() == canonical)
    }
}
