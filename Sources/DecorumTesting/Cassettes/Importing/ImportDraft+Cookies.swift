import HTTPTypes

extension ImportDraft {
    /// Splits values of `Set-Cookie` that were joined, where a comma is followed by the name of a cookie.
    mutating func splittingCookies(_ fields: HTTPFields, at place: String) -> HTTPFields {
        var output = HTTPFields()
        for field in fields {
            let lines = field.name == .setCookie ? Self.cookies(in: field.value) : [field.value]
            if lines.count > 1 { warn(.joinedField, at: place, "Several cookies had been joined, and were split.") }
            for line in lines { output.append(HTTPField(name: field.name, value: line)) }
        }
        return output
    }

    private static func cookies(in value: String) -> [String] {
        var lines: [String] = []
        for part in value.split(separator: ",", omittingEmptySubsequences: false) {
            let name = part.drop { $0 == " " }.prefix { $0 != "=" && $0 != ";" }
            let startsCookie = part.contains("=") && HTTPField.Name(String(name)) != nil
            if startsCookie || lines.isEmpty {
                lines.append(String(lines.isEmpty ? part : part.drop { $0 == " " }))
            } else {
                lines[lines.count - 1] += "," + part
            }
        }
        return lines
    }
}
