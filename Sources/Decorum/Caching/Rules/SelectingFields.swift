import HTTPTypes

/// Whether a response that varies answers two requests (RFC 9111, section 4.1).
enum SelectingFields {
    /// The fields of a request that are kept with its response: the fields that `Vary` names, and `Cookie` unless the
    /// response is `public`.
    static func of(_ request: HTTPRequest, for response: HTTPResponse) -> HTTPFields {
        var names = Vary(response.headerFields).names
        let fields = request.headerFields
        if fields.contains(.cookie), !CacheControl(response.headerFields).contains("public") { names.insert(.cookie) }
        return names.isEmpty ? HTTPFields() : HTTPFields(fields.filter { names.contains($0.name) })
    }

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
        // Empty members are ignored only in a field that is known to be a list.
        if listFields.contains(name) { return members(name, lhs) == members(name, rhs) }
        return lhs[name].map(withoutOptionalSpace) == rhs[name].map(withoutOptionalSpace)
    }

    /// The bytes of a value without white space around commas and at the ends (RFC 9110, section 5.6.3).
    ///
    /// White space within a quoted string is a part of the value. So is all that follows a quotation mark that is never
    /// closed.
    private static func withoutOptionalSpace(_ value: String) -> [UInt8] {
        var kept: [UInt8] = []
        var space: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in value.utf8 {
            let isSpace = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            if isSpace, !isQuoted {
                space.append(byte)
                continue
            }
            let isComma = byte == UInt8(ascii: ",") && !isQuoted
            let isAfterComma = kept.isEmpty || (kept.last == UInt8(ascii: ",") && !isQuoted)
            if !isComma, !isAfterComma { kept += space }
            space = []
            kept.append(byte)
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            case UInt8(ascii: "\""): isQuoted.toggle()
            default: break
            }
        }
        return kept
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

    /// The weight of each language in `Accept-Language` (RFC 9110, section 12.4.2); nil if a weight is unclear.
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
