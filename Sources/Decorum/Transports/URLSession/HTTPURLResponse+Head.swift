import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension HTTPResponse {
    // The fields' type traps when there are more than fit, and a server can send that many cookies.
    private static let fieldLimit = 10_000

    /// Takes over a head; nil where its status, its fields' number or its lengths make no sense.
    ///
    /// The fields come in the order of their names, since the platform has lost theirs.
    init?(_ response: HTTPURLResponse) {
        guard (100...999).contains(response.statusCode) else { return nil }
        var fields = HTTPFields()
        let named = response.allHeaderFields.compactMap { name, value -> HTTPField? in
            guard let name = (name as? String).flatMap({ HTTPField.Name($0) }), let value = value as? String else {
                return nil
            }
            return HTTPField(name: name, value: value)
        }
        guard named.count <= Self.fieldLimit else { return nil }
        for field in named.sorted(by: { $0.name.canonicalName < $1.name.canonicalName }) {
            guard field.name == .setCookie else {
                fields.append(field)
                continue
            }
            for cookie in SetCookieSplitting.split(field.value) {
                guard fields.count < Self.fieldLimit else { return nil }
                fields.append(HTTPField(name: .setCookie, value: cookie))
            }
        }
        guard !Self.contradictsItself(fields) else { return nil }
        self.init(status: Status(code: response.statusCode), headerFields: fields)
    }

    /// Removes the fields that describe content before the platform decoded it, and returns the codings.
    ///
    /// The codings come in the order in which they were undone, the reverse of that in which they were applied
    /// (RFC 9110, section 8.4).
    mutating func removeDecodedCodings() -> [String] {
        guard let value = headerFields[.contentEncoding] else { return [] }
        let codings = value.split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
        guard !codings.isEmpty, codings.allSatisfy(URLSessionPlatform.decodedCodings.contains) else { return [] }
        headerFields[.contentEncoding] = nil
        headerFields[.contentLength] = nil
        return codings.reversed()
    }
}
