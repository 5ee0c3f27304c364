import HTTPTypes

/// Whether a response that varies answers two requests (RFC 9111, section 4.1).
enum SelectingFields {
    static func match(_ stored: StoredResponse, _ fields: HTTPFields) -> Bool {
        guard !stored.vary.isAny else { return false }
        return stored.vary.names.allSatisfy { name in
            areSame(name, fields, stored.selectingFields)
                || (name == .acceptLanguage && isPreferred(stored.head, by: fields))
        }
    }

    static func areSame(_ lhs: StoredResponse, _ rhs: StoredResponse) -> Bool {
        lhs.vary.names.allSatisfy { areSame($0, lhs.selectingFields, rhs.selectingFields) }
    }

    private static func areSame(_ name: HTTPField.Name, _ lhs: HTTPFields, _ rhs: HTTPFields) -> Bool {
        if lhs.hasSame(name, as: rhs) { return true }
        guard lhs.contains(name), rhs.contains(name) else { return false }
        if name == .acceptLanguage {
            guard let lhs = languages(lhs), let rhs = languages(rhs) else { return false }
            return lhs == rhs
        }
        // Blanks around commas are ignored only in a field that is known to be a list.
        return listFields.contains(name) ? members(name, lhs) == members(name, rhs) : lhs[name] == rhs[name]
    }

    private static let listFields: Set<HTTPField.Name> = [.accept, .acceptEncoding]

    /// The members of all lines of a field, in which blanks around commas do not count.
    private static func members(_ name: HTTPField.Name, _ fields: HTTPFields) -> [Substring] {
        fields.lazy.filter { $0.name == name }.flatMap { Array(ListMembers($0.value)) }
    }

    /// Whether a response is in the language that a request prefers to all others.
    private static func isPreferred(_ response: HTTPResponse, by fields: HTTPFields) -> Bool {
        guard let language = response.headerFields.firstValue(of: .contentLanguage) else { return false }
        guard let wanted = languages(fields), let best = wanted.values.max(), best > 0 else { return false }
        return wanted.filter { $0.value == best }.map(\.key) == [language.lowercased()]
    }

    /// The weight of each language in `Accept-Language` (RFC 9110, section 12.4.2); nil where one is unclear.
    private static func languages(_ fields: HTTPFields) -> [String: Double]? {
        var weights: [String: Double] = [:]
        for member in members(.acceptLanguage, fields) {
            let parts = member.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let language = parts.first, parts.count <= 2,
                let weight = parts.count == 1 ? 1 : weight(parts[1]),
                weights.updateValue(weight, forKey: language) == nil
            else { return nil }
        }
        return weights
    }

    private static func weight(_ parameter: String) -> Double? {
        let number = parameter.dropFirst(2)
        guard parameter.hasPrefix("q="), number.utf8.count <= 5,
            number.utf8.allSatisfy({ $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) })
        else { return nil }
        return Double(number).flatMap { $0 <= 1 ? $0 : nil }
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let contentLanguage = HTTPField.Name("Content-Language")!
}
