import HTTPTypes

/// The stored responses that a response to an unsafe method invalidates (RFC 9111, section 4.4).
enum InvalidationRules {
    /// The URIs whose responses are removed: the URI of the request, and the URIs of the same origin that the response
    /// names.
    static func invalidated(by response: HTTPResponse, to request: HTTPRequest) -> [ResponseKey.URI] {
        guard !request.method.isSafe, (200..<400).contains(response.status.code),
            let uri = ResponseKey.URI(request)
        else { return [] }
        guard let origin = try? Origin(request) else { return [uri] }
        // They have the spelling of the request, since responses are stored under that spelling.
        let named = [HTTPField.Name.location, .contentLocation]
            .compactMap { response.headerFields.firstValue(of: $0) }
            .compactMap { ResponseKey.URI($0, relativeTo: request) }
            .filter { (try? Origin($0.description)) == origin }
            .map { ResponseKey.URI(scheme: uri.scheme, authority: uri.authority, path: $0.path) }
            .filter { $0 != uri }
        return [uri] + named
    }
}
