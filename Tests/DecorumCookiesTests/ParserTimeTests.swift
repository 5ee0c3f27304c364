import DecorumTestSupport
import Testing

@testable import DecorumCookies

/// What a server gives takes time in proportion to its length, whatever it is.
@Suite struct ParserTimeTests {
    private static let marks = [
        "a", ";", "=", "\"", " ", "\t", "a=b;", "; Path=/", ",", "1 ", "1:1:1 ", "jan", ".", "a.", "é",
    ]

    private static let parsers = [
        TimedParser("SetCookie", marks, from: "a=b;") { _ = SetCookie($0) },
        TimedParser("CookieDate", marks) { _ = CookieDate(ArraySlice($0.utf8)) },
        TimedParser("CookiePair", marks) { _ = CookiePair.all(in: $0) },
        TimedParser("PublicSuffixes", marks, from: "a.") { _ = PublicSuffixes.conservative.isPublicSuffix($0) },
    ]

    @Test(arguments: parsers) func `Twice the input takes twice the time`(parser: TimedParser) {
        parser.expectLinearTime()
    }
}
