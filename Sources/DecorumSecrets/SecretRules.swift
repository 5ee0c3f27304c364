package import HTTPTypes

/// The names and shapes by which secrets are found.
package struct SecretRules: Sendable, Hashable {
    /// The fields whose values are secret.
    package var fields: Set<HTTPField.Name> = []
    /// The names of further fields whose values are secret.
    package var fieldNames: SecretNameSet = []
    /// The names of query items, fragment items and path parameters.
    package var queryItems: SecretNameSet = []
    /// The places in JSON.
    package var json = JSONMatcher([])
    /// The names in forms.
    package var formNames: SecretNameSet = []
    /// The names in JSON under which only texts that look random are secret.
    package var opaqueNames: SecretNameSet = []
    /// Whether the user name and password of a URL are secret.
    package var userinfo = false
    /// Whether parts of paths may be secret.
    package var paths = false
    /// Whether tokens are found by their shape.
    package var tokens = false

    package init() {}

    /// The names at any depth of JSON, which also count in markup, tables and lines of text.
    package var jsonNames: SecretNameSet { json.deepNames }

    /// Whether any secret could be found in content.
    package var looksIntoContent: Bool {
        !json.isEmpty || !queryItems.isEmpty || !formNames.isEmpty || userinfo || tokens || paths
    }

    /// The maximum depth of nested encodings that are searched, such as JSON in a string of JSON.
    package static let nestingLimit = 3

    /// Whether the value of a field is secret by the name of the field.
    package func isNamedSecret(_ field: HTTPField) -> Bool {
        fields.contains(field.name) || fieldNames.isSecret(field.value, ofField: field.name.canonicalName)
    }

    /// The values that are secret in a pair of a name and a value: by the names of JSON or of fields.
    func secrecy(ofPairNamed name: [UInt8]) -> SecretNameSet.Secrecy? {
        if let secrecy = jsonNames.secrecy(of: name) { return secrecy }
        guard let field = HTTPField.Name(String(decoding: name, as: UTF8.self)) else { return nil }
        return fields.contains(field) ? .any : fieldNames.secrecy(ofField: field.canonicalName)
    }
}
