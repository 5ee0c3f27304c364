#if AsyncHTTPClient
import AsyncHTTPClient
import Decorum
import NIOHTTP1

extension HTTPClientRequest {
    /// Converts the head of a request, which was validated.
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
            throw InvalidRequestError(.invalidURL, "The URL has no scheme, no host or a fragment in its path.")
        }
        self.init(url: "\(scheme)://\(authority)\(path)")
        method = HTTPMethod(rawValue: head.method.rawValue)

        headers.reserveCapacity(head.headerFields.count + 2)
        // RFC 9110, section 7.2, asks for it to be the first field.
        if !head.headerFields.contains(where: { $0.name.canonicalName == "host" }) {
            headers.add(name: "Host", value: authority)
        }
        for field in head.headerFields {
            headers.add(name: field.name.rawName, value: field.value)
        }
    }
}

extension HTTPResponse {
    // HTTPFields traps when there are more than fit, and a server can send that many.
    private static let fieldLimit = 10_000

    /// Converts a head; nil where its status, the number of its fields or its lengths are invalid.
    init?(_ response: HTTPClientResponse) {
        let code = Int(response.status.code)
        guard (100...999).contains(code), response.headers.count <= Self.fieldLimit else { return nil }
        var fields = HTTPFields()
        for (name, value) in response.headers {
            guard let name = HTTPField.Name(name) else { return nil }
            fields.append(HTTPField(name: name, value: value))
        }
        guard !fields.isContentLengthAmbiguous else { return nil }
        self.init(status: Status(code: code, reasonPhrase: response.status.reasonPhrase), headerFields: fields)
    }
}
#endif
