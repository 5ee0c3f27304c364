import Decorum
import HTTPTypes

extension ImportDraft {
    /// Splits values of `Set-Cookie` that were joined.
    mutating func splittingCookies(_ fields: HTTPFields, at place: String) -> HTTPFields {
        var output = HTTPFields()
        for field in fields {
            let lines = field.name == .setCookie ? SetCookieSplitting.split(field.value) : [field.value]
            if lines.count > 1 { warn(.joinedField, at: place, "Several cookies had been joined, and were split.") }
            for line in lines { output.append(HTTPField(name: field.name, value: line)) }
        }
        return output
    }
}
