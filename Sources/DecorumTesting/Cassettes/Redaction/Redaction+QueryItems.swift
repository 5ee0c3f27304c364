import Decorum

extension Redaction {
    /// Replaces only the values of items in the query of a URL.
    init(ofItems names: Set<String>) {
        self.init(
            fields: [], queryItems: SecretNames(names), jsonPaths: [], formNames: [], userinfo: false,
            masksTokens: false)
    }
}
