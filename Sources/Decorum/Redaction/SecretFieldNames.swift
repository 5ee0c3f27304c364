import HTTPTypes

/// The fields that may hold a secret by the list of a redaction, whatever their values are.
///
/// By these a store tells requests apart, so each field counts whose value a redaction would replace, and a few more.
struct SecretFieldNames: Sendable {
    /// Those of the standard redaction.
    static let standard = SecretFieldNames(.standard)

    private let names: FieldNames
    private let endings: SecretNames

    /// Creates the names of a redaction.
    ///
    /// - Parameters:
    ///   - redaction: The redaction.
    ///   - others: Further names.
    init(_ redaction: Redaction, and others: Set<HTTPField.Name> = []) {
        names = FieldNames(redaction.fields.union(others))
        endings = redaction.fieldNames
    }

    func contains(_ name: HTTPField.Name) -> Bool {
        if names.contains(name) { return true }
        // A stack asks this for each field of each request, and the views of strings are slow to go through backwards.
        var text = name.canonicalName
        return text.withUTF8 { unsafe endings.mayBeSecret(field: $0) }
    }
}
