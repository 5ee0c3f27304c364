import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLRequest {
    /// Takes over the head of a request, which was validated.
    ///
    /// The length and the coding of the transfer are URLSession's own to announce: a second announcement that
    /// contradicts the first lets a request be smuggled past a proxy (RFC 9112, section 6.3).
    init(_ head: HTTPRequest) throws(InvalidRequestError) {
        let path = head.path ?? "/"
        guard path.hasPrefix("/") else {
            throw InvalidRequestError(.invalidPath, "URLSession cannot send the asterisk form; the path starts with a slash.")
        }
        guard let scheme = head.scheme, let authority = head.authority, !path.utf8.contains(UInt8(ascii: "#")),
            let url = URL(string: "\(scheme)://\(authority)\(path)"), url.host != nil
        else { throw .invalidURL }
        try URLSessionPlatform.validate(url)

        self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: URLSessionPlatform.noTimeout)
        httpMethod = head.method.rawValue
        httpShouldHandleCookies = false
        allHTTPHeaderFields = URLSessionPlatform.fields(completing: Self.joined(head.headerFields))
    }

    private static func joined(_ fields: HTTPFields) -> [String: String] {
        var values: [String: String] = [:]
        for field in fields where field.name != .contentLength && field.name != .transferEncoding {
            let name = field.name.canonicalName
            guard let first = values[name] else {
                values[name] = field.value
                continue
            }
            values[name] = first + (field.name == .cookie ? "; " : ", ") + field.value
        }
        return values
    }
}
