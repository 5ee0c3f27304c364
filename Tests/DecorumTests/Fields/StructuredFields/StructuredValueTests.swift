import Decorum
import Foundation
import Testing

/// RFC 9651, sections 4.1.4 to 4.1.11 and 4.2.4 to 4.2.10.
@Suite struct StructuredValueTests {
    @Test(
        arguments: [
            ("0", 0, "0"), ("-0", 0, "0"), ("00", 0, "0"), ("42", 42, "42"), ("-042", -42, "-42"),
            ("999999999999999", 999_999_999_999_999, "999999999999999"),
            ("-999999999999999", -999_999_999_999_999, "-999999999999999"), ("000000000000001", 1, "1"),
            ("  7  ", 7, "7"),
        ] as [(String, Int, String)])
    func `An integer has up to fifteen digits`(text: String, number: Int, canonical: String) throws {
        try expect(text, is: .integer(number), written: canonical)
    }

    @Test(
        arguments: [
            ("1.5", 1500, "1.5"), ("-1.25", -1250, "-1.25"), ("0.125", 125, "0.125"), ("1.0", 1000, "1.0"),
            ("1.500", 1500, "1.5"), ("-0.0", 0, "0.0"), ("-0.5", -500, "-0.5"), ("00.050", 50, "0.05"),
            ("0.005", 5, "0.005"), ("123456789012.1", 123_456_789_012_100, "123456789012.1"),
            ("-999999999999.999", -999_999_999_999_999, "-999999999999.999"),
        ] as [(String, Int, String)])
    func `A decimal has at most twelve and three digits`(text: String, thousandths: Int, canonical: String) throws {
        try expect(text, is: .decimal(StructuredDecimal(thousandths: thousandths)), written: canonical)
    }

    @Test(
        arguments: [
            (#""""#, "", #""""#), (#""a b""#, "a b", #""a b""#), (#""\"\\""#, #""\"#, #""\"\\""#),
            (#""a, b; c=(d)""#, "a, b; c=(d)", #""a, b; c=(d)""#), (#""\\\\""#, #"\\"#, #""\\\\""#),
            (#"" ~""#, " ~", #"" ~""#),
        ] as [(String, String, String)])
    func `A string is printable ASCII in quotation marks`(text: String, content: String, canonical: String) throws {
        try expect(text, is: .string(content), written: canonical)
    }

    @Test(arguments: ["a", "*", "*a", "A-b_c.d", "foo123/456", "a:b", "a!#$%&'*+-.^_`|~z", "text/html", "A0"])
    func `A token is written as it is`(text: String) throws {
        try expect(text, is: .token(text), written: text)
    }

    @Test(
        arguments: [
            ("::", "", "::"), (":aGVsbG8=:", "hello", ":aGVsbG8=:"), (":aGVsbG8:", "hello", ":aGVsbG8=:"),
            (":aGk=:", "hi", ":aGk=:"), (":aA==:", "h", ":aA==:"), (":aA=:", "h", ":aA==:"), (":aA:", "h", ":aA==:"),
            (":aB==:", "h", ":aA==:"), (":aGl=:", "hi", ":aGk=:"), (":Pz8/Pj4+:", "???>>>", ":Pz8/Pj4+:"),
        ] as [(String, String, String)])
    func `Bytes are in base64, of which padding may be missing`(
        text: String, content: String, canonical: String
    ) throws {
        try expect(text, is: .byteSequence(Data(content.utf8)), written: canonical)
    }

    @Test(arguments: [("?1", true), ("?0", false)]) func `A Boolean is a digit`(text: String, isTrue: Bool) throws {
        try expect(text, is: .boolean(isTrue), written: text)
    }

    @Test(arguments: [
        ("@1659578233", 1_659_578_233), ("@0", 0), ("@-1", -1), ("@-62135596800", -62_135_596_800),
        ("@253402214400", 253_402_214_400), ("@999999999999999", 999_999_999_999_999),
        ("@-999999999999999", -999_999_999_999_999),
    ]) func `A date is a number of seconds, and all of its digits are kept`(text: String, seconds: Double) throws {
        try expect(text, is: .date(Date(timeIntervalSince1970: seconds)), written: text)
    }

    @Test(arguments: [
        (#"%"""#, ""), (#"%"This is intended for display to %c3%bcsers.""#, "This is intended for display to üsers."),
        (#"%"%22%25\ %0a%00""#, "\"%\\ \n\0"), (#"%"%f0%9f%98%80""#, "😀"), (#"%"%ef%bb%bf""#, "\u{FEFF}"),
        (#"%"%7f~""#, "\u{7F}~"),
    ]) func `A display string may have any characters, escaped in lower case`(text: String, content: String) throws {
        try expect(text, is: .displayString(content), written: text)
    }

    @Test func `Unnecessary escapes are read, and not written`() throws {
        try expect(#"%"%41 b""#, is: .displayString("A b"), written: #"%"A b""#)
    }

    @Test(
        arguments: [
            ("", 0), ("  ", 2), ("\t1", 0), ("1\t", 1), ("1 2", 2), ("é", 0), ("!a", 0), ("=", 0), ("#", 0), ("(1)", 0),
            ("-", 1), ("--1", 1), ("-a", 1), ("+1", 0), ("1000000000000000", 16), ("1a", 1), ("1,2", 1), ("4-2", 1),
            ("1.", 2), (".1", 0), ("1.a", 2), ("1..2", 2), ("1.5.4", 3), ("1.2345", 6), ("1234567890123.1", 13),
            ("- 1", 1), ("1e3", 1), ("0x1", 1), ("\"", 1), ("\"a", 2), (#""\"#, 2), (#""\a""#, 2), (#""\""#, 3),
            ("\"\t\"", 1), ("\"\u{7F}\"", 1), ("\"é\"", 1), ("\"\0\"", 1), ("'a'", 0), ("\"a\" \"b\"", 4), ("a b", 2),
            ("a\"b\"", 1), ("a\u{80}", 1), ("a(", 1), (":", 1), (":a:", 2), (":aGVsbG8=", 9), (":aGVs bG8=:", 5),
            (":aGVsbG8==:", 9), (":=aGVsbG8=:", 1), (":a=GVsbG8:", 3), (":aGVs=:", 5), (":aA===:", 5), (":aG-_:", 3),
            (":aGVs\nbG8=:", 5), ("*aGVsbG8=*", 8), ("?", 1), ("?2", 1), ("?T", 1), ("?10", 2), ("? 1", 1),
            ("@", 1),
            ("@a", 1), ("@1.0", 4), ("@ 1", 1), ("@1000000000000000", 17), ("%", 1), ("%a", 1), ("%'a'", 1), ("%\"", 2),
            ("%\"a", 3), ("%\"%C3%bc\"", 3), ("%\"%c3%BC\"", 6), ("%\"%c3%28\"", 2), ("%\"%a0%a1\"", 2),
            ("%\"%ed%a0%80\"", 2), ("%\"%c0%80\"", 2), ("%\"%f4%90%80%80\"", 2), ("%\"%c\"", 3), ("%\"%", 3),
            ("%\"%0", 3),
            ("%\"%%\"", 3), ("%\"\t\"", 2), ("%\"ü\"", 2), ("%\"%g0\"", 3),
        ] as [(String, Int)])
    func `An invalid item is refused, with the offset of the first invalid byte`(text: String, offset: Int) {
        let error = #expect(throws: StructuredFieldError.self) { try StructuredItem(parsing: text) }
        #expect(error?.offset == offset)
    }

    private func expect(_ text: String, is value: StructuredValue, written canonical: String) throws {
        let item = try StructuredItem(parsing: text)

        #expect(item.value == value)
        #expect(item.parameters.isEmpty)
        #expect(try item.serialized() == canonical)
    }
}
