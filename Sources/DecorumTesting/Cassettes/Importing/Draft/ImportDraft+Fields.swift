import Decorum
public import HTTPTypes

extension ImportDraft {
    /// Reads fields from a mapping of names to values or lists of values, or from a list of pairs.
    ///
    /// Pseudo fields of HTTP/2 are no fields. A field whose name is not valid, or whose value is not text, is left out
    /// with a warning.
    ///
    /// - Parameter node: The fields; nil or null for none.
    /// - Returns: The fields, in their order.
    /// - Throws: ``ImportFault`` if there are more fields than the limits allow.
    public mutating func fields(_ node: StoredNode?) throws(ImportFault) -> HTTPFields {
        guard let node else { return [:] }
        var fields = HTTPFields()
        for (name, value) in node.members ?? [] {
            for value in value.elements ?? [value] { try append(name, value, to: &fields) }
        }
        for pair in node.elements ?? [] {
            if let name = pair["name"]?.text {
                try append(name, pair["value"], at: pair, to: &fields)
            } else if let parts = pair.elements, parts.count == 2, let name = parts[0].text {
                try append(name, parts[1], to: &fields)
            }
        }
        return fields
    }

    /// Appends a field, unless its name is a pseudo field of HTTP/2.
    mutating func append(
        _ name: String, _ text: String, at node: StoredNode, to fields: inout HTTPFields
    ) throws(ImportFault) {
        guard !name.hasPrefix(":") else { return }
        guard let fieldName = HTTPField.Name(name) else {
            warn(.invalidField, at: node, "A field was left out, as its name is not valid in HTTP.")
            return
        }
        do throws(ImportFault) {
            try budget.checkField(after: fields.count)
        } catch {
            throw error.located(at: node)
        }
        fields.append(HTTPField(name: fieldName, value: text))
    }

    private mutating func append(
        _ name: String, _ value: StoredNode, to fields: inout HTTPFields
    ) throws(ImportFault) {
        try append(name, value, at: value, to: &fields)
    }

    private mutating func append(
        _ name: String, _ value: StoredNode?, at node: StoredNode, to fields: inout HTTPFields
    ) throws(ImportFault) {
        if let elements = value?.elements {
            for element in elements { try append(name, element, at: node, to: &fields) }
            return
        }
        // An object is not a value that a field can have; null means an empty value.
        guard value?.members == nil else {
            warn(.leftOut, at: node, "A field was left out, as its value is not text.")
            return
        }
        if let bytes = value?.taggedBytes {
            let text = String(validating: bytes, as: UTF8.self) ?? String(bytes.map { Character(Unicode.Scalar($0)) })
            try append(name, text, at: node, to: &fields)
        } else {
            try append(name, value?.text ?? "", at: node, to: &fields)
        }
    }
}

extension ImportDraft {
    /// Splits values of `Set-Cookie` that were joined.
    mutating func splittingCookies(_ fields: HTTPFields, at node: StoredNode) throws(ImportFault) -> HTTPFields {
        var output = HTTPFields()
        for field in fields {
            let lines = field.name == .setCookie ? SetCookieSplitting.split(field.value) : [field.value]
            if lines.count > 1 { warn(.joinedField, at: node, "Several cookies had been joined, and were split.") }
            for line in lines { try append(field.name.rawName, line, at: node, to: &output) }
        }
        return output
    }
}
