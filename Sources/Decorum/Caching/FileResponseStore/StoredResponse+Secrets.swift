import HTTPTypes

extension StoredResponse {
    /// Whether a field of the request or of the response holds a secret.
    func holdsSecret(under key: ResponseKey) -> Bool {
        key.holdsSecret || selectingFields.contains(.cookie)
            || head.headerFields.contains { field in
                Redaction.standard.isSecret(field, secretFields: []) || field.refersToSecret
            }
    }
}

extension HTTPField {
    private static let referringFields = FieldNames(
        Set(["Location", "Content-Location", "Link", "Refresh"].compactMap { HTTPField.Name($0) }))

    /// Whether the value is a URL, or a text with one, that holds a secret.
    fileprivate var refersToSecret: Bool {
        guard Self.referringFields.contains(name) else { return false }
        let redaction = Redaction.standard
        return (isURL ? redaction.applied(toURL: value) : redaction.applied(toText: value)) != value
    }
}
