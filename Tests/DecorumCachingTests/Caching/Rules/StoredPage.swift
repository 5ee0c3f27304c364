import Foundation
import HTTPTypes

@testable import Decorum

/// The stored responses and the requests of the tests of caching rules.
enum StoredPage {
    /// Sun, 09 Sep 2001 01:46:40 GMT.
    static let date = Date(timeIntervalSince1970: 1_000_000_000)

    /// Creates a response of ten bytes that was received at ``date``.
    static func response(
        _ fields: String = "", status: Int = 200, body: Body = "0123456789", to requested: String = ""
    ) -> StoredResponse {
        StoredResponse(
            head: head(fields, status: status), body: body, request: request(requested), date: date)
    }

    static func head(_ fields: String = "", status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: .init(code: status), headerFields: HTTPFields(lines: fields))
    }

    static func request(_ fields: String = "", method: HTTPRequest.Method = .get) -> HTTPRequest {
        HTTPRequest(
            method: method, scheme: "https", authority: "example.com", path: "/page",
            headerFields: HTTPFields(lines: fields))
    }
}

extension HTTPFields {
    /// Creates fields from lines, which vertical bars separate.
    init(lines: String) {
        self.init()
        for line in lines.split(separator: "|") {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = HTTPField.Name(parts[0].trimmingCharacters(in: .whitespaces)), parts.count == 2 else {
                continue
            }
            append(HTTPField(name: name, value: parts[1].trimmingCharacters(in: .whitespaces)))
        }
    }
}

extension CacheRequest {
    /// The directives of a request without declared secrets.
    init(_ fields: HTTPFields, use: CacheUse) {
        self.init(fields, TellingFields(fields, declaredSecret: [], countsCookie: false), use: use)
    }
}
