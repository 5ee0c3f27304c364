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
        "0004": "foo", "0021": "a=b; x; c=d", "0022": "a=b; x; c=d", "0023": "a=b; x; c=d",
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
            let name = try #require(HTTPField.Name("Set-Cookie"))
            response.head.headerFields.append(HTTPField(name: name, isoLatin1Value: String(value)))
        }
        let stub = StubConnection(answers: [{ [response] _ in response }], then: { _ in Response(status: .ok) })
        let connection = stub.keepingCookies(in: CookieJar(suffixes: .conservative, clock: clock))
        let first = URL(string: row.from ?? "http://home.example.org/cookie-parser")
        let next = row.then ?? location ?? "/cookie-parser-result"
        _ = try await connection.send(.get(#require(first?.absoluteString)))
        _ = try await connection.send(.get(#require(URL(string: next, relativeTo: first)?.absoluteString)))
        let field = stub.requests.last?.head.headerFields.first { $0.name == .cookie }
        return field.map { "Cookie: " + $0.isoLatin1Value } ?? ""
    }
}
