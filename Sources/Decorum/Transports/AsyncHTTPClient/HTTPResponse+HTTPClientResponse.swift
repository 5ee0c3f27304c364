#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import NIOHTTP1

extension HTTPResponse {
    // The fields' type traps when there are more than fit, and a server can send that many.
    private static let fieldLimit = 10_000

    /// Takes over a head; nil where its status, its fields' number or its lengths make no sense.
    init?(_ response: HTTPClientResponse) {
        let code = Int(response.status.code)
        guard (100...999).contains(code), response.headers.count <= Self.fieldLimit else { return nil }
        var fields = HTTPFields()
        for (name, value) in response.headers {
            guard let name = HTTPField.Name(name) else { return nil }
            fields.append(HTTPField(name: name, value: value))
        }
        guard !Self.contradictsItself(fields) else { return nil }
        self.init(status: Status(code: code, reasonPhrase: response.status.reasonPhrase), headerFields: fields)
    }
}
#endif
