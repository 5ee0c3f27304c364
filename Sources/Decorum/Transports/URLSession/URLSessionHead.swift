import Foundation
import HTTPTypes
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLRequest {
    /// Converts the head of a request, which was validated.
    init(_ head: HTTPRequest) throws(InvalidRequestError) {
        let path = head.path ?? "/"
        guard path.hasPrefix("/") else {
            throw InvalidRequestError(
                .invalidPath,
                "URLSession cannot send a request for the server as a whole; the path is a slash at least.")
        }
        guard let scheme = head.scheme, let authority = head.authority, !path.utf8.contains(UInt8(ascii: "#")),
            let url = URL(string: "\(scheme)://\(authority)\(path)"), url.host != nil
        else { throw .invalidURL }
        try URLSessionPlatform.validate(url)

        self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: URLSessionPlatform.noTimeout)
        httpMethod = head.method.rawValue
        httpShouldHandleCookies = false
        allHTTPHeaderFields = Self.values(of: head.headerFields)
    }

    /// The value of each field under its name as it is spelled, repeated ones joined.
    private static func values(of fields: HTTPFields) -> [String: String] {
        var joined: [HTTPField] = []
        // URLSession announces the content itself: a second, different announcement would let a request be smuggled past
        // a proxy (RFC 9112, section 6.3).
        for field in fields where field.name != .contentLength && field.name != .transferEncoding {
            guard let index = joined.firstIndex(where: { $0.name == field.name }) else {
                joined.append(field)
                continue
            }
            joined[index].value += (field.name == .cookie ? "; " : ", ") + field.value
        }
        var values = Dictionary(joined.map { ($0.name.rawName, $0.value) }) { first, _ in first }
        for name in URLSessionPlatform.automaticFields where !joined.contains(where: { $0.name == name }) {
            values[name.rawName] = URLSessionPlatform.absentField
        }
        return values
    }
}

extension HTTPResponse {
    // HTTPFields traps when there are more than fit, and a server can send that many cookies.
    private static let fieldLimit = 10_000

    /// Converts a head; nil where its status, the number of its fields or its lengths are invalid.
    ///
    /// The fields are sorted by name, since the platform does not keep their order.
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
        guard !fields.isContentLengthAmbiguous else { return nil }
        self.init(status: Status(code: response.statusCode), headerFields: fields)
    }

    /// Removes the fields that describe the coded content, which the platform has decoded, and returns the codings.
    ///
    /// The codings are in the order in which they were undone, the reverse of that in which they were applied
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

extension TaskPriority {
    /// The priority of a task of a session, from 0 to 1, where a task without a priority has 0.5.
    var ofURLSessionTask: Float {
        switch self {
        case .high...: URLSessionTask.highPriority
        case .medium...: URLSessionTask.defaultPriority
        case .low...: URLSessionTask.lowPriority
        default: URLSessionTask.lowPriority / 2
        }
    }
}
