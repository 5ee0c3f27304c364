import Decorum
import Foundation
import Testing

/// RFC 9651, section 4.1: values that cannot be serialized.
@Suite struct StructuredFieldWritingTests {
    @Test(
        arguments: [
            .integer(1_000_000_000_000_000), .integer(-1_000_000_000_000_000), .integer(.max), .integer(.min),
            .decimal(StructuredDecimal(thousandths: .min)), .decimal(StructuredDecimal(thousandths: .max)),
            .decimal(StructuredDecimal(thousandths: 1_000_000_000_000_000)), .string("ü"), .string("\n"),
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
    }

    // Not an argument of the test above: Foundation's description of such a date ends the process.
    @Test func `A date that is not a number is not written`() {
        let item = StructuredItem(.date(Date(timeIntervalSince1970: .nan)))

        #expect(throws: StructuredFieldError.self) { try item.serialized() }
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

    @Test func `A fraction of a second is removed from a date, also before 1970`() throws {
        #expect(try StructuredItem(.date(Date(timeIntervalSince1970: 1.9))).serialized() == "@1")
        #expect(try StructuredItem(.date(Date(timeIntervalSince1970: -1.1))).serialized() == "@-2")
    }

    @Test func `An error names the cause and the place, and quotes nothing of the field`() {
        let error = #expect(throws: StructuredFieldError.self) { try StructuredList(parsing: "secret secret") }

        #expect(error?.description == "The structured field is invalid at byte 7: a comma is expected.")
    }
}
