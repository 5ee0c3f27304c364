#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import NIOHTTP1

extension HTTPClientRequest {
    /// Takes over the head of a request, which was validated.
    ///
    /// AsyncHTTPClient announces the content itself, in place of what the fields say of its length and coding: a
    /// second announcement would let a request be smuggled past a proxy (RFC 9112, section 6.3).
    init(_ head: HTTPRequest) throws(InvalidRequestError) {
        let path = head.path ?? "/"
        guard path.hasPrefix("/") else {
            throw InvalidRequestError(
                .invalidPath, "AsyncHTTPClient cannot send a request for the server as a whole; give it a path.")
        }
        guard let scheme = head.scheme, let authority = head.authority, !path.utf8.contains(UInt8(ascii: "#")) else {
            throw .invalidURL
        }
        self.init(url: "\(scheme)://\(authority)\(path)")
        method = HTTPMethod(rawValue: head.method.rawValue)

        headers.reserveCapacity(head.headerFields.count + 2)
        // The first field, where RFC 9110, section 7.2, wants to see it.
        if !head.headerFields.contains(where: { $0.name.canonicalName == "host" }) {
            headers.add(name: "Host", value: authority)
        }
        for field in head.headerFields {
            headers.add(name: field.name.rawName, value: field.value)
        }
    }
}
#endif
