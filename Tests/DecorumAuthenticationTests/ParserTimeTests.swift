import DecorumTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import DecorumAuthentication

/// What a server gives takes time in proportion to its length, whatever it is.
@Suite struct ParserTimeTests {
    private static let marks = [
        "a", ",", "=", "\"", "\\", " ", "a ", "a,", "a=b,", "a=\"", "a b=c,", "\\\"", "Bearer a=b,", "====", "%", "+",
        "&",
    ]

    private static let parsers = [
        TimedParser("Challenge", marks) { _ = Challenge.parse($0) },
        TimedParser("challenges", ["a b=c,", "a=", "="], from: "Bearer ") { text in
            let fields = HTTPFields(
                text.split(separator: "=").map { HTTPField(name: .wwwAuthenticate, value: String($0)) })
            _ = fields.challenges.first?.realm
        },
        TimedParser("FormText", marks) { _ = FormText.decoded($0[...]) },
    ]

    @Test(arguments: parsers) func `Twice the input takes twice the time`(parser: TimedParser) {
        parser.expectLinearTime()
    }
}
