import Decorum
import Testing

/// RFC 9651, section 4.1.5.
@Suite struct StructuredDecimalTests {
    @Test(arguments: [
        (0.0015, "0.002"), (0.0025, "0.002"), (-0.0015, "-0.002"), (-0.0025, "-0.002"), (9.9995, "10.0"), (0, "0.0"),
        (-0.0, "0.0"), (-0.0004, "0.0"), (1, "1.0"), (0.1, "0.1"), (0.01, "0.01"), (0.101, "0.101"), (1.23456, "1.235"),
        (123_456_789_012.345, "123456789012.345"), (999_999_999_999.999, "999999999999.999"),
    ]) func `A number is rounded to three decimal places, and halves to even`(value: Double, text: String) throws {
        #expect(try StructuredItem(.decimal(StructuredDecimal(value))).serialized() == text)
    }

    @Test(arguments: [
        1e12, -1e12, 999_999_999_999.9996, 1e300, .infinity, -.infinity, .nan, .greatestFiniteMagnitude,
    ]) func `A number without a decimal form cannot be written`(value: Double) {
        #expect(throws: StructuredFieldError.self) {
            try StructuredItem(.decimal(StructuredDecimal(value))).serialized()
        }
    }
}
