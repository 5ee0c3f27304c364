import HTTPTypes

/// The names of fields that may hold a secret by the lists of a redaction, with any value.
///
/// A store distinguishes requests by these fields. So the set has each name whose value a redaction would replace, and
/// a few more.
struct SecretFieldNames: Sendable {
    /// The names of the standard redaction.
    static let standard = SecretFieldNames(.standard)

    private let names: FieldNames
    private let endings: SecretNames

    init(_ redaction: Redaction) {
        names = FieldNames(redaction.fields)
        endings = redaction.fieldNames
    }

    func contains(_ name: HTTPField.Name) -> Bool {
        names.contains(name) || hasSecretEnding(name)
    }

    /// Whether a name may be secret although it is not listed.
    func hasSecretEnding(_ name: HTTPField.Name) -> Bool {
        // A stack calls this for each field of each request, and reading the views of a string backwards is slow.
        var text = name.canonicalName
        return text.withUTF8 { unsafe endings.mayBeSecret(field: $0) }
    }
}
