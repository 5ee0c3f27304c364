import HTTPTypes

/// The fields of a request that decide which responses it may get, found in one pass over them.
struct TellingFields: Sendable {
    /// Whether the request has a field that a cache evaluates: a directive, a condition or a range.
    private(set) var hasCacheFields = false
    private(set) var hasCookie = false
    /// The fields by which a server distinguishes users.
    private(set) var credentials: [HTTPField] = []

    /// Finds the fields.
    ///
    /// - Parameters:
    ///   - fields: The fields of the request.
    ///   - secretFields: The names that the request declares secret.
    ///   - countsCookie: Whether a cookie is one of the credentials.
    init(_ fields: HTTPFields, declaredSecret secretFields: Set<HTTPField.Name>, countsCookie: Bool) {
        // Each access to a static value that is made at its first use takes a call.
        let (table, secretNames) = (FieldClasses.table, SecretFieldNames.standard)
        let isSecret = { (value: String) in
            value.utf8.count >= Self.shortestToken && Redaction.standard.isSecret(value: value)
        }
        for index in fields.indices {
            let name = fields[index].name
            let classes = table.classes(of: name)
            if !classes.isDisjoint(with: [.cacheControls, .cookies]) {
                if classes.contains(.cookies) { hasCookie = true } else { hasCacheFields = true }
            }
            // Most fields of most requests only say what the client accepts.
            let counts =
                fields[index].indexingStrategy == .disallow || (!secretFields.isEmpty && secretFields.contains(name))
                || !classes.contains(.neutral)
                    && (classes.contains(.telling) || secretNames.hasSecretEnding(name)
                        || isSecret(fields[index].value))
            if counts, countsCookie || !classes.contains(.cookies) { credentials.append(fields[index]) }
        }
    }

    // A short value holds no token.
    private static let shortestToken = 12
}
