import Decorum
import HTTPTypes

/// The values and places that the rules leave as they are.
struct AllowedPlaces: Sendable {
    private var texts: Set<[UInt8]> = []
    private var fields: Set<String> = []
    private var items: SecretNames = []
    /// Finds the places in JSON; nil if there are none.
    private(set) var json: Redaction?

    init(_ allowances: [SecretAllowance] = []) {
        var patterns: Set<JSONPattern> = []
        for allowance in allowances {
            switch allowance.rule {
            case .text(let text): texts.insert(Array(text.utf8))
            case .field(let name): fields.insert(name)
            case .item(let name): items.insert(name)
            case .json(let pattern): patterns.insert(pattern)
            case .kind: break
            }
        }
        if !patterns.isEmpty {
            json = Redaction(fields: [], queryItems: [], jsonPaths: patterns, formNames: [])
        }
    }

    func contains(_ field: HTTPField.Name) -> Bool { fields.contains(field.canonicalName) }

    /// Whether a secret stays, by its value, the name of its item, or its name in JSON.
    func contains(_ secret: NamedSecret) -> Bool {
        if texts.contains(secret.bytes) { return true }
        switch secret.place {
        case .cookie, .item, .text: return !items.isEmpty && items.secrecy(of: secret.name) != nil
        case .json: return containsJSON(secret)
        case .field, .userinfo, .path: return false
        }
    }

    /// Whether a secret in JSON stays by its name alone, as in text that is only nearly JSON, in which places are not known.
    private func containsJSON(_ secret: NamedSecret) -> Bool {
        guard let names = json?.jsonNames, let secrecy = names.secrecy(of: JSONText.unescape(secret.name[...])) else {
            return false
        }
        return secrecy == .any || !secret.isNumber
    }
}
