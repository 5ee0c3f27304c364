import HTTPTypes

/// Whether two requests are the same to a response that varies (RFC 9111, section 4.1).
enum SelectingFields {
    static func match(_ stored: StoredResponse, _ request: HTTPRequest) -> Bool {
        stored.vary.names.allSatisfy { name in
            areSame(name, request.headerFields, stored.selectingFields)
                || (name == .acceptLanguage && isPreferred(stored.head, by: request.headerFields))
        }
    }

    static func areSame(_ lhs: StoredResponse, _ rhs: StoredResponse) -> Bool {
        lhs.vary.names.allSatisfy { areSame($0, lhs.selectingFields, rhs.selectingFields) }
    }

    private static func areSame(_ name: HTTPField.Name, _ lhs: HTTPFields, _ rhs: HTTPFields) -> Bool {
        if lhs.hasSame(name, as: rhs) { return true }
        guard lhs.contains(name), rhs.contains(name) else { return false }
        guard name != .acceptLanguage else { return languages(lhs) == languages(rhs) }
        return members(name, lhs) == members(name, rhs)
    }

    /// The members of all lines of a field, in which blanks around commas do not count.
    private static func members(_ name: HTTPField.Name, _ fields: HTTPFields) -> [Substring] {
        fields.lazy.filter { $0.name == name }.flatMap { Array(ListMembers($0.value)) }
    }

    /// Whether a response is in the language that a request prefers to all others.
    private static func isPreferred(_ response: HTTPResponse, by fields: HTTPFields) -> Bool {
        guard let language = response.headerFields.firstValue(of: .contentLanguage) else { return false }
        let wanted = languages(fields)
        guard let best = wanted.values.max(), best != "0" else { return false }
        return wanted.filter { $0.value == best }.map(\.key) == [language.lowercased()]
    }

    /// The weight of each language in `Accept-Language`, spelled in one way (RFC 9110, section 12.4.2).
    private static func languages(_ fields: HTTPFields) -> [String: String] {
        var weights: [String: String] = [:]
        for member in members(.acceptLanguage, fields) {
            let parts = member.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let language = parts.first, !language.isEmpty else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2) ?? "1"
            weights[language] = canonicalWeight(weight)
        }
        return weights
    }

    /// A weight without the zeros at its end, so that weights can be compared as texts.
    private static func canonicalWeight(_ weight: Substring) -> String {
        guard weight.contains(".") else { return String(weight) }
        let digits = weight.reversed().drop { $0 == "0" }.drop { $0 == "." }
        return String(digits.reversed())
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let contentLanguage = HTTPField.Name("Content-Language")!
}
