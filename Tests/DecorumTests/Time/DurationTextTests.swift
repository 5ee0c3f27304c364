import Testing

@testable import Decorum

struct DurationTextTests {
    @Test(
        arguments: [
            (.seconds(-1), "0.0 ms"), (.zero, "0.0 ms"), (.microseconds(99), "0.0 ms"),
            (.microseconds(999_999), "999.9 ms"),
            (.seconds(1), "1.00 s"), (.milliseconds(2_059), "2.05 s"), (.milliseconds(599_999), "599.99 s"),
            (.seconds(600), "10 min"), (.seconds(629), "10 min"), (.seconds(630), "11 min"),
            (.seconds(7_199), "120 min"),
            (.seconds(7_200), "2 h"), (.seconds(8_999), "2 h"), (.seconds(9_000), "3 h"), (.seconds(86_400), "24 h"),
            (.seconds(172_800), "2 days"), (.seconds(216_000), "3 days"), (Duration(attoseconds: .min), "0.0 ms"),
            (Duration(attoseconds: .max), "106751991167300 days"),
        ] as [(Duration, String)])
    func `A long time is rounded to its unit, and a short one is cut off`(duration: Duration, text: String) {
        #expect(duration.shortText == text)
    }
}
