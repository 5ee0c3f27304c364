import HTTPTypes

/// The scheme of the credentials of a request that a server has refused, where it asks for another one.
///
/// A server names the schemes that it takes in `WWW-Authenticate` (RFC 9110, section 11.6.1). Credentials of another scheme
/// are refused whatever their value is, so a new token does not help.
enum RefusedScheme {
    /// The line that names the schemes, and no credentials; nil unless the server asks for other ones with the status 401.
    static func words(for request: RecordedRequest, _ response: RecordedResponse) -> String? {
        guard response.status == 401, let credentials = request.fields[.authorization] else { return nil }
        let bytes = Array(credentials.utf8)
        let length = AuthorizationScheme.lengthInField(bytes[...])
        let sent = String(decoding: bytes.prefix(length).filter { $0 > 0x20 }, as: UTF8.self)
        let asked = response.fields[values: .wwwAuthenticate].flatMap(schemes)
        guard !sent.isEmpty, !asked.isEmpty, !asked.contains(where: { $0.lowercased() == sent.lowercased() }) else {
            return nil
        }
        return "challenge  the server asks for \(asked.joined(separator: " or ")); the request had \(sent)"
    }

    /// The schemes of the challenges in a field, whose parameters are separated by commas too.
    private static func schemes(in value: String) -> [String] {
        withoutQuotedStrings(value).split(separator: ",").compactMap { member in
            let words = member.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.contains("="), words.dropFirst().first?.first != "=" else {
                return nil
            }
            return String(first)
        }
    }

    private static func withoutQuotedStrings(_ value: String) -> String {
        var text = ""
        var isQuoted = false
        var isEscaped = false
        for character in value {
            if isEscaped {
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if !isQuoted {
                text.append(character)
            }
        }
        return text
    }
}
