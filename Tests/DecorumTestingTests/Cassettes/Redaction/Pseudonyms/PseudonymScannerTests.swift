import Decorum
import DecorumTesting
import Foundation
import Testing

/// Secret scanners find tokens by the prefixes of services, and other secrets by their entropy.
///
/// The bounds are those of gitleaks (3.5 bits for texts of at most 150 characters behind the name of a secret) and of
/// detect-secrets (3 bits for hexadecimal digits).
@Suite struct PseudonymScannerTests {
    private static let letters = "x7Rq2LmZ9sKd4TbVw8NcYh3JpF6gAe5uQX1oaB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5fG7h"
    private static let hex = "5f4dcc3b5aa765d61d8327deb882cf995f4dcc3b5aa765d61d8327deb882cf99"

    private static let tokens: [String] = [
        "ghp_" + letters.prefix(36), "github_pat_" + letters + letters.prefix(10), "glpat-" + letters.prefix(20),
        "xoxb-" + "1234567890-" + letters.prefix(24), "AKIA" + "QWERTYUIOPASDF23", "AIza" + letters.prefix(35),
        "sk-ant-api03-" + letters + letters.prefix(20), "sk-proj-" + letters, "sk_live_" + letters.prefix(24),
        "SG." + letters.prefix(22) + "." + letters.prefix(43), "npm_" + letters.prefix(36), "SK" + hex.prefix(32),
        "pypi-AgEIcHlwaS5vcmc" + letters + letters, "dop_v1_" + hex, "shpat_" + hex.prefix(32),
        "hvs." + letters + letters.prefix(20), "rubygems_" + hex.prefix(48), "lin_api_" + letters.prefix(40),
        "dapi" + hex.prefix(32), "PMAK-" + hex.prefix(24) + "-" + hex.prefix(34), "figd_" + letters.prefix(40),
        "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw9", "\(hex.prefix(32))-us12",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1In0.c2lnbmF0dXJl",
        String(hex.prefix(40)), String(letters.prefix(20)), "3f2b8c1e-5d4a-4b6f-9e7d-2a1c0b9f8e7d", "hunter2-hunter2",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYQ1k2l3m4n5", "4111111111111111",
    ]

    /// The shapes of a bot's token and of a key of Mailchimp.
    private static var rulesWithoutPrefix: [Regex<Substring>] {
        [/[0-9]{8,10}:[0-9A-Za-z_\-]{35}/, /[0-9a-z]{32}-us[0-9]{1,2}/]
    }

    @Test(arguments: tokens)
    func `No rule matches a placeholder`(token: String) throws {
        let pseudonyms = Pseudonyms()
        let rewriting = SecretRewriting(.standard, by: pseudonyms)
        for number in 0..<30 {
            // Each has another number.
            let secret = number == 0 ? token : String(token.dropLast(2)) + String(number + 10)
            for name in ["token", "password", "aws_secret_access_key", "api_key"] {
                let json = Data("{\"\(name)\":\"\(secret)\"}".utf8)
                let output = String(
                    decoding: rewriting.applied(to: json, mediaType: "application/json"), as: UTF8.self)
                let text = String(output.dropFirst(name.count + 5).dropLast(2))
                #expect(text != secret && !text.isEmpty, "\(name) \(secret)")
                #expect(text.count < 40 || text.count == secret.count || text.count >= 160)
                #expect(TokenSearch.tokens(in: Array(output.utf8)).isEmpty, "\(output)")
                #expect(SecretScanner(environment: [:]).findings(in: Data(output.utf8)).isEmpty, "\(output)")
                #expect(text.count > 150 || Self.entropy(text) < 3.5, "\(text) \(Self.entropy(text))")
                for rule in Self.rulesWithoutPrefix { #expect(text.firstMatch(of: rule) == nil, "\(text)") }
                let isHex = text.allSatisfy { $0.isHexDigit }
                #expect(!isHex || Self.entropy(text) < 3, "\(text)")
            }
        }
    }

    /// The entropy of Shannon, in bits for a character.
    private static func entropy(_ text: String) -> Double {
        let counts = Dictionary(grouping: text, by: { $0 }).mapValues { Double($0.count) / Double(text.count) }
        return counts.values.reduce(0) { $0 - $1 * log2($1) }
    }
}
