import Testing

@testable import DecorumTesting

/// The list of replaced secrets that a recording shows.
@Suite struct SecretReportTests {
    private static func report(of count: Int) -> String {
        let list = (0..<count).map { number in
            SecretReplacement(
                NamedSecret(Array("x7Rq2Lm".utf8), named: "token\(number)".utf8, at: .item), Array("Xq1AAAA".utf8))
        }
        return SecretReplacement.report(list, of: "a.json")
    }

    @Test func `Two hundred values are all shown`() {
        let report = Self.report(of: 200)
        #expect(report.contains("200 secrets were replaced"))
        #expect(report.contains("token199 in a query or form"))
        #expect(!report.contains("and others"))
    }

    @Test func `The values of the items of a list have one line`() {
        let list = (0..<3).map { number in
            SecretReplacement(
                NamedSecret(
                    Array("x7Rq2Lm\(number)".utf8), named: "token".utf8, at: .json(pattern: "items.token")),
                Array("Xq1AAAA\(number)".utf8))
        }
        #expect(
            SecretReplacement.report(list, of: "a.json") == """
                a.json: 3 secrets were replaced; a replayed test gets these texts:
                  items.token in JSON: Xq1AAAA0 and 2 more; to leave them: rules.allowedSecrets.append(.json("items.token"))

                """)
    }

    @Test func `Of more values the first two hundred are shown`() {
        let report = Self.report(of: 201)
        #expect(!report.contains("token200 in a query or form"))
        #expect(report.hasSuffix("  and others\n"))
    }
}
