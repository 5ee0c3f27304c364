import DecorumCookies
import DecorumTestSupport
import DecorumTesting
import Foundation
import HTTPTypes
import Testing

/// Cases of cookies, through the whole stack: the fields of a response, and the field of the next request.
///
/// RFC 6265bis, sections 5.1, 5.6, 5.7 and 5.8.3.
@Suite(.timeLimit(.minutes(1))) struct CookieCaseTests {
    struct Case: Decodable, Sendable {
        let name: String
        /// The fields of the response, as lines.
        let response: [String]
        /// The field of the next request, as a line; empty for none.
        let cookie: String
        /// The URL of the first request, where it is not the usual one.
        let from: String?
        /// The URL of the next request, where it is not the usual one.
        let then: String?
    }

    /// The cases that RFC 6265bis decides otherwise than RFC 6265, which that suite was written for.
    private static let renewed = [
        // A pair without an equals sign, or without a name, is the value of a cookie without a name.
        "0004": "foo", "0021": "a=b; x; c=d", "0023": "foo", "0024": "foo", "0026": "foo", "0027": "bar", "0028": "foo",
        "chromium0009": "BLAHHH", "chromium0010": #""BLA\"HHH""#, "chromium0012": "ABC", "mozilla0014": "six",
        "mozilla0015": "seven", "mozilla0016": "eight", "mozilla0017": "eight; test=six", "name0017": "a=bar",
        "name0023": "foo", "name0025": "==a=bar", "name0028": "a", "name0031": #""foo"#, "name0033": "aaa",
        // The last domain counts, also where it is empty.
        "optional-domain0042": "foo=bar",
        // A control character ends the cookie, not its value.
        "disabled-chromium0022": "", "disabled-chromium0023": "",
    ]

    @Test func `The cases of this package are kept`() async throws {
        let cases = try Fixtures.rows("cookies/cases.json", of: Case.self)
        #expect(cases.count >= 100)
        for row in cases {
            let sent = try await Self.cookie(of: row)
            #expect(sent == row.cookie, "\(row.name)")
        }
    }

    @Test(
        .enabled(if: Fixtures.shared("vectors/cookies.json") != nil, "The further cases are not beside the checkout."))
    func `The cases of another suite are kept, but for those that have a new rule`() async throws {
        let file = try #require(Fixtures.shared("vectors/cookies.json"))
        let cases = try JSONDecoder().decode([Case].self, from: Data(contentsOf: file))
        #expect(cases.count > 100)
        for row in cases {
            let sent = try await Self.cookie(of: row)
            let expected = Self.renewed[row.name].map { $0.isEmpty ? "" : "Cookie: " + $0 } ?? row.cookie
            #expect(sent == expected, "\(row.name): \(row.response)")
        }
    }

    /// The field of the second request, as a line; its text is Latin-1, as in the cases.
    private static func cookie(of row: Case) async throws -> String {
        let clock = VirtualClock(date: Date(timeIntervalSince1970: 1_298_937_600))
        var response = Response(status: .ok)
        var location: String?
        for line in row.response {
            let value = String(line.drop { $0 != ":" }.dropFirst()).drop { $0 == " " }
            guard !line.hasPrefix("Location:") else {
                location = String(value)
                continue
            }
            // `HTTPField` makes blanks of these characters, which no field has, so only the parser sees them.
            guard !value.unicodeScalars.contains(where: { "\0\r\n".unicodeScalars.contains($0) }) else {
                #expect(SetCookie(String(value)) == nil)
                continue
            }
            response.head.headerFields.append(HTTPField(name: .setCookie, lenientValue: Self.bytes(ofLatin1: value)))
        }
        let stub = StubConnection(answers: [{ [response] _ in response }], then: { _ in Response(status: .ok) })
        let connection = stub.keepingCookies(in: CookieJar(suffixes: .conservative, clock: clock))
        let first = URL(string: row.from ?? "http://home.example.org/cookie-parser")
        let next = row.then ?? location ?? "/cookie-parser-result"
        _ = try await connection.send(.get(#require(first?.absoluteString)))
        _ = try await connection.send(.get(#require(URL(string: next, relativeTo: first)?.absoluteString)))
        let field = stub.requests.last?.head.headerFields.first { $0.name == .cookie }
        return field.map { "Cookie: " + Self.latin1($0.value) } ?? ""
    }

    private static func bytes(ofLatin1 text: Substring) -> [UInt8] {
        text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }

    private static func latin1(_ text: String) -> String {
        String(String.UnicodeScalarView(text.utf8.map { Unicode.Scalar($0) }))
    }
}
