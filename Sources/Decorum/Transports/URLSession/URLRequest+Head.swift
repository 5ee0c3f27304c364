import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLRequest {
    /// Takes over the head of a request, which was validated.
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
        // URLSession announces the content itself: a second announcement that contradicts the first would let a
        // request be smuggled past a proxy (RFC 9112, section 6.3).
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
