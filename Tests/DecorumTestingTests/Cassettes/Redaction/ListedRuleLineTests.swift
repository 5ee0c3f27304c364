import Decorum
import HTTPTypes
import Testing

@testable import DecorumTesting

/// The lines that a recording lists, as code that compiles.
@Suite struct ListedRuleLineTests {
    private struct Pasted: Sendable {
        let secret: NamedSecret
        let line: String
        /// The same line.
        let paste: @Sendable (inout CassetteRules) -> Void
    }

    private static func secret(_ name: String, at place: NamedSecret.Place) -> NamedSecret {
        NamedSecret(Array("x7Rq2Lm".utf8), named: name.utf8, at: place)
    }

    private static let pasted: [Pasted] = [
        Pasted(
            secret: secret("authorization", at: .field),
            line: #"rules.allowedSecrets.append(.field("authorization"))"#,
            paste: { rules in rules.allowedSecrets.append(.field("authorization")) }),
        Pasted(
            secret: secret("x-shop-key", at: .field),
            line: #"rules.allowedSecrets.append(.field("x-shop-key"))"#,
            paste: { rules in rules.allowedSecrets.append(.field("x-shop-key")) }),
        Pasted(
            secret: secret("sid", at: .cookie),
            line: #"rules.allowedSecrets.append(.item("sid"))"#,
            paste: { rules in rules.allowedSecrets.append(.item("sid")) }),
        Pasted(
            secret: secret("user[password]", at: .item),
            line: #"rules.allowedSecrets.append(.item("user[password]"))"#,
            paste: { rules in rules.allowedSecrets.append(.item("user[password]")) }),
        Pasted(
            secret: secret("say \"token\"", at: .text),
            line: #"rules.allowedSecrets.append(.item("say \"token\""))"#,
            paste: { rules in rules.allowedSecrets.append(.item("say \"token\"")) }),
        Pasted(
            secret: secret("token", at: .json(pattern: "choices.token")),
            line: #"rules.allowedSecrets.append(.json("choices.token"))"#,
            paste: { rules in rules.allowedSecrets.append(.json("choices.token")) }),
        Pasted(
            secret: secret("auth.token", at: .json(pattern: #"auth\.token"#)),
            line: #"rules.allowedSecrets.append(.json("auth\\.token"))"#,
            paste: { rules in rules.allowedSecrets.append(.json("auth\\.token")) }),
        Pasted(
            secret: secret("auth.token", at: .json(pattern: nil)),
            line: #"rules.allowedSecrets.append(.json("**.auth\\.token"))"#,
            paste: { rules in rules.allowedSecrets.append(.json("**.auth\\.token")) }),
        Pasted(
            secret: secret("path", at: .path),
            line: #"rules.allowedSecrets.append("the value")"#,
            paste: { rules in rules.allowedSecrets.append("the value") }),
        Pasted(
            secret: secret("userinfo", at: .userinfo),
            line: #"rules.allowedSecrets.append("the value")"#,
            paste: { rules in rules.allowedSecrets.append("the value") }),
    ]

    @Test func `Each kind of line is code for the rule that it lists`() {
        for pasted in Self.pasted {
            let replacement = SecretReplacement(pasted.secret, Array("xq1aaaa".utf8))
            #expect(replacement.rule == pasted.line)
            var rules = CassetteRules()
            pasted.paste(&rules)
            #expect(rules.allowedSecrets == [replacement.allowance ?? "the value"])
        }
    }

    @Test func `A field is allowed by its name in any letter case`() {
        let typed = SecretAllowance.field(.authorization)
        #expect(SecretAllowance.field("Authorization") == typed)
        #expect(typed.description == "field authorization")
    }
}
